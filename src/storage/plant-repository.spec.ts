import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { HOSTILE_PLANTS } from '../../test/support/hostile-plants.js';
import { newStore, type Store } from '../../test/support/store.js';
import { openRepository } from './engines.js';
import { BATCH_CHANNEL, type BatchEvent, GroupCommit } from './group-commit.js';
import {
  lengthOf,
  type PlantRepository,
  type PlantSnapshot,
  RepositoryUnavailableError,
  type StoredPlant,
} from './plant-repository.js';

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

/** Calls a function with a snapshot, and closes it. */
async function withSnapshot(read: (snapshot: PlantSnapshot) => Promise<void>): Promise<void> {
  const snapshot = await repository.snapshot?.();
  if (snapshot === undefined) throw new Error('The repository takes no snapshots.');
  await read(snapshot).finally(() => snapshot.close());
}

async function listOf(plants: AsyncIterable<StoredPlant>): Promise<StoredPlant[]> {
  const list = [];
  for await (const plant of plants) list.push(plant);
  return list;
}

/** Returns so many plants with even ids. */
function early(count: number): StoredPlant[] {
  return Array.from({ length: count }, (_, index) => ({ id: BigInt(2 * index), name: 'early' }));
}

describe('a plant', () => {
  it('is as long as all of its texts together', () => {
    expect(lengthOf({ id: 1_000_000n, name: 'abc', tag: 'de' })).toBe(5);
    expect(lengthOf({ id: 1n, name: 'abc' })).toBe(3);
  });
});

describe('a batch of plants', () => {
  it('is stored as it is, over the whole range of ids', async () => {
    const outcomes = await repository.add(HOSTILE_PLANTS);

    expect(new Set(outcomes)).toEqual(new Set(['created']));
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
});

describe('plants with one id that arrive at the same moment', () => {
  it('are in conflict with the first one, unless they repeat it', async () => {
    const commit = new GroupCommit(repository);
    const names = ['Monstera', 'Ficus', 'Monstera', 'Aloe', 'Ficus'];
    const outcomes = await Promise.all(names.map((name) => commit.add({ id: 1n, name })));

    expect(outcomes).toEqual(['created', 'conflict', 'repeated', 'conflict', 'conflict']);
    expect(await store.rows()).toEqual([{ id: 1n, name: 'Monstera', tag: null }]);
  });
});

describe('a trigger that keeps one plant of a batch out', () => {
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

  it('fails this plant alone: the others are stored, and are counted once', async () => {
    await repository.add([{ id: 1n, name: 'Monstera' }]);
    const commit = new GroupCommit(repository);
    let size = 0;
    const listener = (message: unknown): void => void (size += (message as BatchEvent).size);
    subscribe(BATCH_CHANNEL, listener);
    const names = ['Weed', 'Ficus', 'Aloe'];
    const results = await Promise.allSettled([
      ...names.map((name, index) => commit.add({ id: BigInt(index + 2), name })),
      commit.add({ id: 1n, name: 'Monstera' }),
      commit.add({ id: 1n, name: 'Weed' }),
    ]);
    await expect(commit.add({ id: 2n, name: 'Weed' })).rejects.toThrow('look at the triggers of the table');
    unsubscribe(BATCH_CHANNEL, listener);

    // PostgreSQL has stored them before it turned out that the first one is missing.
    const added = store.engine === 'sqlite' ? 'created' : 'repeated';
    expect(results).toEqual([
      { status: 'rejected', reason: expect.any(Error) as unknown },
      ...[added, added, 'repeated', 'conflict'].map((value) => ({ status: 'fulfilled', value })),
    ]);
    expect(size).toBe(4);
    expect((await store.rows()).map(({ id }) => id)).toEqual([1n, 3n, 4n]);
  });

  it('leaves its id to another plant that arrived at the same moment', async () => {
    const commit = new GroupCommit(repository);
    const results = await Promise.allSettled(['Weed', 'Aloe', 'Ficus'].map((name) => commit.add({ id: 2n, name })));

    expect(results).toEqual([
      { status: 'rejected', reason: expect.any(Error) as unknown },
      ...['created', 'conflict'].map((value) => ({ status: 'fulfilled', value })),
    ]);
    expect((await store.rows()).map(({ name }) => name)).toEqual(['Aloe']);
  });
});

describe('a table that another program renames', () => {
  it('makes the store unavailable until it has its name again', async () => {
    const plant = { id: 1n, name: 'Monstera' };
    await store.query('ALTER TABLE plants RENAME TO others');

    const added = repository.add([plant]);
    await expect(added).rejects.toThrow(RepositoryUnavailableError);
    await expect(added).rejects.toThrow(/no such table: .*plants|relation "plants" does not exist/);
    await expect(repository.check?.()).rejects.toThrow(RepositoryUnavailableError);
    await expect(repository.snapshot?.()).rejects.toThrow(RepositoryUnavailableError);
    await store.query('ALTER TABLE others RENAME TO plants');

    expect(await repository.add([plant])).toEqual(['created']);
  });
});

describe('a snapshot', () => {
  it('has all plants in the order of their ids, over the whole range', async () => {
    const plants = [
      { id: -(2n ** 63n), name: 'least', tag: undefined },
      { id: -1n, name: '', tag: '\u{1fab4}' },
      { id: 2n ** 63n - 1n, name: 'greatest', tag: '' },
    ];
    await repository.add([...plants].reverse());

    await withSnapshot(async (snapshot) => {
      expect(await listOf(snapshot.plants())).toEqual(plants);
      expect(await listOf(snapshot.plants(-(2n ** 63n)))).toEqual(plants.slice(1));
      expect(await listOf(snapshot.plants(-2n))).toEqual(plants.slice(1));
      expect(await listOf(snapshot.plants(2n ** 63n - 1n))).toEqual([]);
    });
  });

  it('has nothing of what is added after it, and can be read again', async () => {
    await repository.add(early(5_000));
    await withSnapshot(async (snapshot) => {
      const read: StoredPlant[] = [];
      for await (const plant of snapshot.plants()) {
        read.push(plant);
        if (read.length % 1_000 !== 1) continue;
        // Before and behind the plants that are read next.
        await repository.add([
          { id: BigInt(2 * read.length + 999), name: 'late' },
          { id: BigInt(20_001 + read.length), name: 'late' },
        ]);
      }

      expect(read.map(({ id, name }) => ({ id, name }))).toEqual(early(5_000));
      expect(await snapshot.count()).toBe(5_000);
      expect(await snapshot.find([0n, 1n, 2n])).toHaveLength(2);
      expect(await snapshot.find([-(2n ** 63n), 2n ** 63n - 1n])).toEqual([]);
      expect(await snapshot.find([])).toEqual([]);
      expect(await listOf(snapshot.plants(9_997n))).toEqual([{ id: 9_998n, name: 'early', tag: undefined }]);
    });
    await withSnapshot(async (snapshot) => expect(await snapshot.count()).toBeGreaterThan(5_000));
  });

  it('can be left before its last plant, and read again', async () => {
    await repository.add(early(5_000));
    await withSnapshot(async (snapshot) => {
      for await (const plant of snapshot.plants()) if (plant.id === 100n) break;

      expect(await listOf(snapshot.plants())).toHaveLength(5_000);
    });
  });

  it('lets its process do other work between the plants', async () => {
    await repository.add(early(5_000));
    await withSnapshot(async (snapshot) => {
      let turns = 0;
      const timer = setInterval(() => (turns += 1));
      await listOf(snapshot.plants()).finally(() => clearInterval(timer));

      expect(turns).toBeGreaterThan(0);
    });
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
