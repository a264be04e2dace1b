import { collectGarbage } from '../../test/support/garbage.js';
import { newStore, type Store } from '../../test/support/store.js';
import { openRepository } from './open-repository.js';
import type { PlantRepository, PlantSnapshot, StoredPlant } from './plant-repository.js';

let store: Store;
let repository: PlantRepository;

/** Returns the plants whose id is greater than `after`, or all of them. */
async function readAll(after?: bigint): Promise<StoredPlant[]> {
  const snapshot = await repository.snapshot();
  try {
    return (await pagesOf(snapshot.pages(after))).flat();
  } finally {
    await snapshot.close();
  }
}

async function pagesOf(pages: ReturnType<PlantSnapshot['pages']>): Promise<(readonly StoredPlant[])[]> {
  const list = [];
  for await (const page of pages) list.push(page);
  return list;
}

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
    const outcomes = await repository.add([
      { id: -(2n ** 63n), name: 'least' },
      { id: 2n ** 63n - 1n, name: 'greatest', tag: '' },
      { id: 0n, name: '', tag: '\u{1fab4}' },
    ]);

    expect(outcomes).toEqual(['created', 'created', 'created']);
    expect(await store.rows()).toEqual([
      { id: -(2n ** 63n), name: 'least', tag: null },
      { id: 0n, name: '', tag: '\u{1fab4}' },
      { id: 2n ** 63n - 1n, name: 'greatest', tag: '' },
    ]);
  });

  it('returns the outcome of each plant: created, repeated or conflict', async () => {
    await repository.add([
      { id: 1n, name: 'Monstera', tag: 'indoor' },
      { id: 2n, name: 'Ficus' },
    ]);

    const outcomes = await repository.add([
      { id: 1n, name: 'Monstera', tag: 'indoor' },
      { id: 1n, name: 'Monstera' },
      { id: 2n, name: 'Ficus' },
      { id: 2n, name: 'Ficus', tag: '' },
      { id: 3n, name: 'Aloe' },
    ]);

    expect(outcomes).toEqual(['repeated', 'conflict', 'repeated', 'conflict', 'created']);
    expect(await store.rows()).toHaveLength(3);
  });

  it('may hold an id more than once: the first one counts', async () => {
    const outcomes = await repository.add([
      { id: 1n, name: 'Monstera' },
      { id: 1n, name: 'Ficus' },
      { id: 1n, name: 'Monstera' },
    ]);

    expect(outcomes).toEqual(['created', 'conflict', 'repeated']);
    expect(await store.rows()).toEqual([{ id: 1n, name: 'Monstera', tag: null }]);
  });

  it('may have as many plants as an import puts into it, with every kind of text', async () => {
    const texts = [
      '',
      '"',
      "'",
      '\\',
      '\\u0041',
      '\n',
      '\u0001',
      '\\N',
      '\\.',
      'a\tb\r\n',
      'null',
      '\u0301',
      '\u{1fab4}',
      undefined,
    ];
    const plants = Array.from({ length: 4_096 }, (_, index) => ({
      id: BigInt(index - 1_000),
      name: texts[index % 13] ?? '',
      tag: texts[index % 14],
    }));
    await repository.add([{ id: 5n, name: 'other' }]);

    const outcomes = await repository.add(plants);

    expect(outcomes.filter((outcome) => outcome === 'created')).toHaveLength(4_095);
    expect(outcomes[1_005]).toBe('conflict');
    expect((await store.rows()).filter(({ id }) => id !== 5n)).toEqual(
      plants.filter(({ id }) => id !== 5n).map(({ tag, ...plant }) => ({ ...plant, tag: tag ?? null })),
    );
    expect(new Set(await repository.add(plants))).toEqual(new Set(['repeated', 'conflict']));
  });

  it('is not kept in memory after it is stored', async () => {
    const used = (): number => {
      collectGarbage();
      return process.memoryUsage().heapUsed;
    };
    const before = used();
    for (let size = 1; size <= 8; size += 1) {
      await repository.add(
        Array.from({ length: size }, (_, index) => ({
          id: BigInt(8 * size + index),
          // Each plant has its own string, as plants from the network have.
          name: Buffer.alloc(524_288, 'a').toString('latin1'),
        })),
      );
    }

    // All of them would take 18 MiB; Node keeps larger texts outside the heap.
    expect(used() - before).toBeLessThan(6 * 1_048_576);
  });

  it('fails with the error itself if a retry would not help', async () => {
    await store.query('CREATE UNIQUE INDEX one_of_each_name ON plants (name)');
    await repository.add([{ id: 1n, name: 'Monstera' }]);

    await expect(repository.add([{ id: 2n, name: 'Monstera' }])).rejects.toMatchObject({
      message: expect.stringMatching(/^UNIQUE constraint failed|^duplicate key value/) as string,
    });
    await store.query('DROP INDEX one_of_each_name');
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

    expect(await readAll()).toEqual(plants);
    expect(await readAll(-(2n ** 63n))).toEqual(plants.slice(1));
    expect(await readAll(-2n)).toEqual(plants.slice(1));
    expect(await readAll(2n ** 63n - 1n)).toEqual([]);
  });

  it('has nothing of what is added after it, and can be read again', async () => {
    await repository.add(Array.from({ length: 5_000 }, (_, index) => ({ id: BigInt(2 * index), name: 'early' })));
    const snapshot = await repository.snapshot();
    try {
      const names = new Set<string>();
      let count = 0;
      for await (const page of snapshot.pages()) {
        // Between plants of this page and behind it.
        await repository.add([
          { id: BigInt(2 * count + 1), name: 'late' },
          { id: BigInt(20_001 + count), name: 'late' },
        ]);
        count += page.length;
        for (const { name } of page) names.add(name);
      }

      expect({ count, names }).toEqual({ count: 5_000, names: new Set(['early']) });
      expect(await snapshot.count()).toBe(5_000);
      expect(await snapshot.find([0n, 1n, 2n])).toHaveLength(2);
      expect(await snapshot.find([-(2n ** 63n), 2n ** 63n - 1n])).toEqual([]);
      expect(await snapshot.find([])).toEqual([]);
      expect(await pagesOf(snapshot.pages(9_997n))).toEqual([[{ id: 9_998n, name: 'early', tag: undefined }]]);
    } finally {
      await snapshot.close();
    }
    expect((await readAll()).length).toBeGreaterThan(5_000);
  });

  it('has small pages of long plants', async () => {
    for (let id = 0n; id < 8n; id += 1n) await repository.add([{ id, name: 'a', tag: 'long '.repeat(200_000) }]);
    const snapshot = await repository.snapshot();
    try {
      const pages = await pagesOf(snapshot.pages());

      expect(pages.flat()).toHaveLength(8);
      expect(Math.max(...pages.map((page) => page.length))).toBeLessThanOrEqual(2);
    } finally {
      await snapshot.close();
    }
  });

  it('can be left in the middle', async () => {
    await repository.add(Array.from({ length: 5_000 }, (_, index) => ({ id: BigInt(index), name: 'early' })));
    const snapshot = await repository.snapshot();
    for await (const page of snapshot.pages()) {
      expect(page[0]?.id).toBe(0n);
      break;
    }
    await snapshot.close();

    expect(await repository.add([{ id: -1n, name: 'late' }])).toEqual(['created']);
  });

  it('fails in one way if the table does not exist', async () => {
    await store.query('ALTER TABLE plants RENAME TO elsewhere');

    await expect(repository.snapshot()).rejects.toThrow(
      /^the database cannot be read: (?:it has no table of plants|relation "plants" does not exist)$/,
    );
    await store.query('ALTER TABLE elsewhere RENAME TO plants');
  });
});

describe('a check', () => {
  it('leaves nothing in the store, even if many run concurrently with creates', async () => {
    const checks = Array.from({ length: 50 }, () => repository.check());
    const outcomes = await repository.add([{ id: 1n, name: 'Monstera' }]);
    await Promise.all(checks);

    expect(outcomes).toEqual(['created']);
    expect(await store.rows()).toEqual([{ id: 1n, name: 'Monstera', tag: null }]);
  });

  it('fails if the table does not exist', async () => {
    await store.query('ALTER TABLE plants RENAME TO elsewhere');

    await expect(repository.check()).rejects.toThrow(
      /^the database cannot store plants: .*(?:no such table: plants|relation "plants" does not exist)/,
    );
    await store.query('ALTER TABLE elsewhere RENAME TO plants');
  });

  it('finds its plants when the store is opened again', async () => {
    await repository.add([{ id: 1n, name: 'Monstera' }]);
    await repository.close();
    repository = await openRepository(store.url);

    expect(await repository.add([{ id: 1n, name: 'Monstera' }])).toEqual(['repeated']);
  });
});
