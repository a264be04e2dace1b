import { Readable } from 'node:stream';
import { inBatches } from './batches.js';

/** Returns the sizes of the batches of so many texts of this length. */
async function sizesOf(count: number, length: number): Promise<number[]> {
  const texts = Readable.from(Array<string>(count).fill('a'.repeat(length)));
  const sizes: number[] = [];
  for await (const batch of inBatches<string>(texts, (text) => text.length)) sizes.push(batch.length);
  return sizes;
}

describe('Batches', () => {
  it('have up to 1,000 items, and fewer where their texts are long', async () => {
    expect(await sizesOf(2_001, 2)).toEqual([1_000, 1_000, 1]);
    expect(await sizesOf(1_000, 2)).toEqual([1_000]);
    expect(await sizesOf(5, 32_768)).toEqual([2, 2, 1]);
    expect(await sizesOf(2, 200_000)).toEqual([1, 1]);
    expect(await sizesOf(0, 2)).toEqual([]);
  });
});
