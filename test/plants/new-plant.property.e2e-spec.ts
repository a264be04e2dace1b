import fc from 'fast-check';
import { anyPlant, anySpelling, anyValid, membersOf, type Plant, textOf } from '../support/plant-json.js';
import { post, refusal } from '../support/client.js';
import { type Service, startService } from '../support/service.js';

/** Runs of the property of valid plants; each sends two requests. */
const VALID_RUNS = 500;

/** Runs of the property of two plants with one id; each sends two requests. */
const CONFLICT_RUNS = 100;

describe('POST /plants with random bodies', () => {
  let service: Service;

  beforeAll(async () => {
    service = await startService();
  });

  afterAll(() => service.close());

  /** Comes first in each run, because the id may exist from another run or from shrinking. */
  async function emptyStore(): Promise<void> {
    await service.store.query('DELETE FROM plants');
  }

  /** Returns the table, with the bytes of its texts as the engine stores them. */
  function storedBytes(): Promise<object[]> {
    const { store } = service;
    const bytes = store.engine === 'sqlite' ? ['CAST(', ' AS BLOB)'] : ['convert_to(', ", 'UTF8')"];
    return store.query(`SELECT id, ${bytes.join('name')} AS name, ${bytes.join('tag')} AS tag FROM plants`);
  }

  function bytesOf({ id, name, tag }: Plant): unknown {
    return { id, name: Buffer.from(name), tag: tag === undefined ? null : Buffer.from(tag) };
  }

  it('creates any plant, and recognises it in another spelling', async () => {
    await fc.assert(
      fc.asyncProperty(anyPlant, anySpelling, anySpelling, async (plant, ...spellings) => {
        await emptyStore();
        const { name, tag } = plant;
        for (const spelling of spellings) {
          const answer = await post(service.url, textOf(membersOf(plant, spelling), spelling));

          expect(answer).toEqual({ status: 200, body: { name, tag }, retryAfter: null });
          expect(await storedBytes()).toEqual([bytesOf(plant)]);
        }
      }),
      { numRuns: VALID_RUNS },
    );
  });

  it('refuses another plant with the same id with error 409, and does not change the stored one', async () => {
    const others = fc
      .tuple(anyValid, anyValid)
      .filter(([{ plant: one }, { plant: another }]) => one.name !== another.name || one.tag !== another.tag);
    await fc.assert(
      fc.asyncProperty(others, async ([{ plant, text }, { plant: another, spelling }]) => {
        await emptyStore();
        await post(service.url, text);

        const answer = await post(service.url, textOf(membersOf({ ...another, id: plant.id }, spelling), spelling));

        expect(answer).toEqual(refusal(409));
        expect(await storedBytes()).toEqual([bytesOf(plant)]);
      }),
      { numRuns: CONFLICT_RUNS },
    );
  });

  it('causes no defect of the service', () => {
    expect(service.log()).toEqual([]);
  });
});
