import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { publishFile } from './publish-file.js';

describe('publishFile', () => {
  let directory: string;
  let target: string;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
    target = join(directory, 'target');
  });

  afterEach(() => rmSync(directory, { recursive: true }));

  /** Publishes a text, with a file beside its draft. */
  function publish(text: string): Promise<string> {
    const write = (draft: string): Promise<string> => {
      writeFileSync(draft, text);
      writeFileSync(`${draft}-wal`, '');
      return Promise.resolve(draft);
    };
    return publishFile(target, write, { companions: ['-wal'] });
  }

  it('creates the file, and leaves nothing else', async () => {
    await publish('first');

    expect(readdirSync(directory)).toEqual(['target']);
    expect(readFileSync(target, 'utf8')).toBe('first');
  });

  it('leaves a file that exists as it is', async () => {
    await publish('first');

    await expect(publish('second')).rejects.toThrow('EEXIST');
    expect(readdirSync(directory)).toEqual(['target']);
    expect(readFileSync(target, 'utf8')).toBe('first');
  });

  it('leaves nothing when its work fails', async () => {
    const write = (draft: string): Promise<never> => {
      writeFileSync(draft, 'half');
      return Promise.reject(new Error('no more'));
    };

    await expect(publishFile(target, write)).rejects.toThrow('no more');
    expect(readdirSync(directory)).toEqual([]);
  });
});
