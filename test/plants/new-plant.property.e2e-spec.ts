import fc from 'fast-check';
import { anyPlant, type Plant } from '../support/any-plant.js';
import { post, refusal } from '../support/client.js';
import { sharedService } from '../support/service.js';
import { RUNS } from '../support/runs.js';

describe('POST /plants with random plants', () => {
  const service = sharedService();

  function create({ id, name, tag }: Plant) {
    return post(service.url, `{"id":${id},${JSON.stringify({ name, tag }).slice(1)}`);
  }

  /** Returns the table, with the bytes of its texts as the engine stores them. */
  function storedBytes(): Promise<object[]> {
    const { store } = service;
    const bytes = store.engine === 'sqlite' ? ['CAST(', ' AS BLOB)'] : ['convert_to(', ", 'UTF8')"];
    return store.query(`SELECT id, ${bytes.join('name')} AS name, ${bytes.join('tag')} AS tag FROM plants`);
  }

  it('creates any plant, recognises it, and refuses another one with its id with error 409', async () => {
    const others = fc
      .tuple(anyPlant, anyPlant)
      .filter(([one, other]) => one.name !== other.name || one.tag !== other.tag);
    await fc.assert(
      fc.asyncProperty(others, async ([plant, other]) => {
        // The id may exist from another run or from shrinking.
        await service.store.query('DELETE FROM plants');
        const { id, name, tag } = plant;
        const answer = { status: 200, body: { name, tag }, retryAfter: null };

        expect(await create(plant)).toEqual(answer);
        expect(await create(plant)).toEqual(answer);
        expect(await create({ ...other, id })).toEqual(refusal(409));
        expect(await storedBytes()).toEqual([
          { id, name: Buffer.from(name), tag: tag === undefined ? null : Buffer.from(tag) },
        ]);
      }),
      { numRuns: 100 * RUNS },
    );
    expect(service.log()).toEqual([]);
  });
});
