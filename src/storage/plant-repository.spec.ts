import { HOSTILE_PLANTS } from '../../test/support/hostile-plants.js';
import { newStore, type Store } from '../../test/support/store.js';
import { DATABASE_DEFAULTS } from './engine.js';
import { engineOf, openRepository } from './engines.js';
import { GroupCommit } from './group-commit.js';
import type { PlantRepository, StoredPlant } from './plant-repository.js';

/** What both engines promise: see jest.config.js. */
let store: Store;
let repository: PlantRepository;

beforeEach(async () => {
  store = await newStore();
  repository = await openRepository(store.url);
});

afterEach(async () => {
  await repository.close();
  await store.close();
});

describe('a batch of plants', () => {
  it('is stored as it is, over the whole range of ids', async () => {
    expect(new Set(await repository.add(HOSTILE_PLANTS))).toEqual(new Set(['created']));
    expect(await store.rows()).toEqual(HOSTILE_PLANTS.map(({ tag, ...plant }) => ({ ...plant, tag: tag ?? null })));
    expect(new Set(await repository.add(HOSTILE_PLANTS))).toEqual(new Set(['repeated']));
  });

  it('returns the outcome of each plant: created, repeated or conflict', async () => {
    await repository.add([
      { id: 1n, name: 'Monstera', tag: 'indoor' },
      { id: 2n, name: 'Monstera', tag: 'indoor' },
      { id: 3n, name: 'Ficus' },
      { id: 4n, name: 'Ficus' },
      { id: 5n, name: 'Ficus' },
    ]);

    const outcomes = await repository.add([
      { id: 1n, name: 'Monstera', tag: 'indoor' },
      { id: 2n, name: 'Monstera', tag: 'garden' },
      { id: 3n, name: 'Fic', tag: 'us' },
      { id: 4n, name: 'Ficus' },
      { id: 5n, name: 'Ficus', tag: '' },
      { id: 6n, name: 'Aloe' },
    ]);

    expect(outcomes).toEqual(['repeated', 'conflict', 'conflict', 'repeated', 'conflict', 'created']);
    expect(await store.rows()).toHaveLength(6);
  });

  it('adds the first of its plants with one id, and compares the others with it', async () => {
    const plant = { id: 1n, name: 'Monstera' };
    const batch = [plant, { id: 1n, name: 'Ficus' }, { ...plant }, plant];

    expect(await repository.add(batch)).toEqual(['created', 'conflict', 'repeated', 'repeated']);
    expect(await store.rows()).toEqual([{ id: 1n, name: 'Monstera', tag: null }]);
  });
});

describe('a trigger that keeps plants out', () => {
  beforeEach(async () => {
    if (store.engine === 'sqlite') {
      await store.query(
        "CREATE TRIGGER t BEFORE INSERT ON plants WHEN new.name = 'Weed' BEGIN SELECT RAISE(IGNORE); END",
      );
    } else {
      await store.query('CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$');
      await store.query(
        "CREATE TRIGGER t BEFORE INSERT ON plants FOR EACH ROW WHEN (new.name = 'Weed') EXECUTE FUNCTION skip()",
      );
    }
  });

  afterEach(async () => {
    await store.query(store.engine === 'sqlite' ? 'DROP TRIGGER t' : 'DROP FUNCTION skip CASCADE');
  });

  it('fails these plants alone, and leaves their ids to others', async () => {
    await repository.add([{ id: 1n, name: 'Monstera' }]);
    const commit = new GroupCommit(repository);
    const add = (id: bigint, name: string): Promise<string> =>
      commit.add({ id, name }).catch((error: unknown) => (error as Error).message);

    const outcomes = await Promise.all([
      add(2n, 'Weed'),
      add(2n, 'Ficus'),
      add(2n, 'Aloe'),
      add(1n, 'Monstera'),
      add(1n, 'Weed'),
    ]);

    const keptOut = expect.stringContaining('look at the triggers of the table') as string;
    expect(outcomes).toEqual([keptOut, 'created', 'conflict', 'repeated', 'conflict']);
    expect((await store.rows()).map(({ id, name }) => [id, name])).toEqual([
      [1n, 'Monstera'],
      [2n, 'Ficus'],
    ]);
  });
});

describe('reading the plants', () => {
  /** The names of 5,000 plants, which have even ids. */
  const NAMES = Array.from({ length: 5_000 }, (_, index) => `plant ${index}`);

  beforeEach(() => repository.add(NAMES.map((name, index) => ({ id: BigInt(2 * index), name }))));

  async function* read(): AsyncGenerator<StoredPlant> {
    yield* (await engineOf(store.url)).plants(DATABASE_DEFAULTS);
  }

  it('yields the plants of one moment in the order of their ids', async () => {
    const plants: StoredPlant[] = [];
    for await (const plant of read()) {
      const count = plants.push(plant);
      if (count % 1_000 !== 1) continue;
      // Before and behind the plants that are read next.
      await repository.add([
        { id: BigInt(2 * count + 999), name: 'late' },
        { id: BigInt(20_001 + count), name: 'late' },
      ]);
    }

    expect(plants.map(({ name }) => name)).toEqual(NAMES);
    expect(plants[1]).toEqual({ id: 2n, name: 'plant 1', tag: undefined });
    expect(await store.rows()).toHaveLength(5_010);
  });

  it('ends its transaction when its consumer stops early', async () => {
    for await (const { id } of read()) if (id === 100n) break;

    if (store.engine === 'sqlite') {
      const [checkpoint] = await store.query<{ busy: bigint | number }>('PRAGMA wal_checkpoint(TRUNCATE)');
      expect(Number(checkpoint?.busy)).toBe(0);
    } else {
      const open = "FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'";
      expect(await store.query(`SELECT ${open}`)).toEqual([]);
    }
  });

  it('lets its process do other work between the plants', async () => {
    let turns = 0;
    const timer = setInterval(() => (turns += 1));
    const plants = [];
    for await (const plant of read()) plants.push(plant);
    clearInterval(timer);

    expect(plants).toHaveLength(5_000);
    expect(turns).toBeGreaterThan(0);
  });
});

describe('a check', () => {
  it('leaves nothing in the store, even if many run concurrently with creates', async () => {
    const checks = Array.from({ length: 50 }, async () => repository.check?.());
    const outcomes = await repository.add([{ id: 1n, name: 'Monstera' }]);
    await Promise.all(checks);

    expect(outcomes).toEqual(['created']);
    expect(await store.rows()).toEqual([{ id: 1n, name: 'Monstera', tag: null }]);
  });
});
