import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { openRepository } from './open-repository.js';
import { type PlantRepository, RepositoryUnavailableError } from './plant-repository.js';

let directory: string;
let file: string;
let repository: PlantRepository;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
  file = join(directory, 'plants.db');
  repository = await openRepository(`sqlite:${file}`, 100);
});

afterEach(async () => {
  await repository.close();
  rmSync(directory, { recursive: true });
});

function withDatabase<Result>(use: (database: Database.Database) => Result): Result {
  const database = new Database(file);
  try {
    return use(database.defaultSafeIntegers(true));
  } finally {
    database.close();
  }
}

function rows(): unknown[] {
  return withDatabase((database) => database.prepare('SELECT id, name, tag FROM plants ORDER BY id').all());
}

describe('a batch of plants', () => {
  it('is stored as it is, over the whole range of ids', async () => {
    const outcomes = await repository.add([
      { id: -(2n ** 63n), name: 'least' },
      { id: 2n ** 63n - 1n, name: 'greatest', tag: '' },
      { id: 0n, name: '', tag: '\u{1fab4}' },
    ]);

    expect(outcomes).toEqual(['created', 'created', 'created']);
    expect(rows()).toEqual([
      { id: -(2n ** 63n), name: 'least', tag: null },
      { id: 0n, name: '', tag: '\u{1fab4}' },
      { id: 2n ** 63n - 1n, name: 'greatest', tag: '' },
    ]);
  });

  it('tells for each plant whether it is created, present or in conflict', async () => {
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

    expect(outcomes).toEqual(['present', 'conflict', 'present', 'conflict', 'created']);
    expect(rows()).toHaveLength(3);
  });

  it('may hold an id more than once: the first one counts', async () => {
    const outcomes = await repository.add([
      { id: 1n, name: 'Monstera' },
      { id: 1n, name: 'Ficus' },
      { id: 1n, name: 'Monstera' },
    ]);

    expect(outcomes).toEqual(['created', 'conflict', 'present']);
    expect(rows()).toEqual([{ id: 1n, name: 'Monstera', tag: null }]);
  });

  it('may be as large as a group commit makes it', async () => {
    const plants = Array.from({ length: 256 }, (_, index) => ({ id: BigInt(index), name: `plant ${index}`, tag: 't' }));

    expect(new Set(await repository.add(plants))).toEqual(new Set(['created']));
    expect(new Set(await repository.add(plants))).toEqual(new Set(['present']));
    expect(rows()).toHaveLength(256);
  });

  it('is not stored, and may be tried again, while another process locks the database', async () => {
    const other = new Database(file);
    other.exec('BEGIN EXCLUSIVE');

    await expect(repository.add([{ id: 1n, name: 'Monstera' }])).rejects.toThrow(RepositoryUnavailableError);

    other.close();
    expect(await repository.add([{ id: 1n, name: 'Monstera' }])).toEqual(['created']);
  });

  it('fails with the error itself where trying again would not help', async () => {
    withDatabase((other) => other.exec('DROP TABLE plants'));

    await expect(repository.add([{ id: 1n, name: 'Monstera' }])).rejects.toMatchObject({
      message: 'no such table: plants',
    });
  });
});

describe('a check', () => {
  it('leaves nothing in the store, also where many come at once and between plants', async () => {
    const checks = Array.from({ length: 50 }, () => repository.check());
    const outcomes = await repository.add([{ id: 1n, name: 'Monstera' }]);
    await Promise.all(checks);

    expect(outcomes).toEqual(['created']);
    expect(rows()).toEqual([{ id: 1n, name: 'Monstera', tag: null }]);
  });

  it('fails within its time while another process locks the database, and not afterwards', async () => {
    const other = new Database(file);
    other.exec('BEGIN EXCLUSIVE');

    await expect(repository.check()).rejects.toThrow(RepositoryUnavailableError);

    other.close();
    await repository.check();
  });

  it('fails where there is no table to write to', async () => {
    withDatabase((other) => other.exec('DROP TABLE plants'));

    await expect(repository.check()).rejects.toThrow('the database takes no plants: no such table: plants');
  });
});

describe('the database', () => {
  it('is a strict table in a write-ahead log', () => {
    withDatabase((database) => {
      expect(database.pragma('journal_mode', { simple: true })).toBe('wal');
      expect(database.prepare("SELECT strict FROM pragma_table_list WHERE name = 'plants'").pluck().get()).toBe(1n);
    });
  });

  it('keeps its plants when it is opened again', async () => {
    await repository.add([{ id: 1n, name: 'Monstera' }]);
    await repository.close();
    repository = await openRepository(`sqlite:${file}`);

    expect(await repository.add([{ id: 1n, name: 'Monstera' }])).toEqual(['present']);
  });

  it('is refused when its schema is newer than the program', async () => {
    withDatabase((database) =>
      database
        .prepare('INSERT INTO kysely_migration VALUES (?, ?)')
        .run('9999-from-the-future', '2999-01-01T00:00:00Z'),
    );

    await expect(openRepository(`sqlite:${file}`)).rejects.toThrow(
      `the database ${file} has a schema that this version does not know; ` +
        'run the version that made it, or a newer one',
    );
  });

  it('is refused when it is none', async () => {
    const none = join(directory, 'none.db');
    writeFileSync(none, 'a text of somebody');

    await expect(openRepository(`sqlite:${none}`)).rejects.toThrow(
      `the database ${none} is no SQLite database, or a damaged one; restore a backup or name another file`,
    );
  });
});
