import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { openRepository } from './open-repository.js';
import { type PlantRepository, RepositoryUnavailableError } from './plant-repository.js';
import { SqlPlantRepository } from './sql-plant-repository.js';
import { openSqlite } from './sqlite-engine.js';

let directory: string;
let file: string;
let repository: PlantRepository;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
  file = join(directory, 'plants.db');
  repository = await openRepository(`sqlite:${file}`, { timeout: 100 });
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

describe('the SQLite database', () => {
  it('takes nothing while another process locks it, and may be tried again', async () => {
    const other = new Database(file);
    other.exec('BEGIN EXCLUSIVE');

    await expect(repository.add([{ id: 1n, name: 'Monstera' }])).rejects.toThrow(RepositoryUnavailableError);

    other.close();
    expect(await repository.add([{ id: 1n, name: 'Monstera' }])).toEqual(['created']);
  });

  it('is a strict table in a write-ahead log', () => {
    withDatabase((database) => {
      expect(database.pragma('journal_mode', { simple: true })).toBe('wal');
      expect(database.prepare("SELECT strict FROM pragma_table_list WHERE name = 'plants'").pluck().get()).toBe(1n);
    });
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

describe('A transaction whose files are away for a moment', () => {
  it('does not stay open: what is created when they are back is there for others', async () => {
    const engine = await openSqlite(file);
    const transaction = await engine.database.startTransaction().execute();
    renameSync(directory, `${directory}-away`);
    await expect(transaction.rollback().execute()).rejects.toThrow('not in their place');
    renameSync(`${directory}-away`, directory);

    const inPlace = new SqlPlantRepository(engine, 100);
    expect(await inPlace.add([{ id: 1n, name: 'Monstera' }])).toEqual(['created']);
    expect(withDatabase((database) => database.prepare('SELECT count(*) FROM plants').pluck().get())).toBe(1n);
    await inPlace.close();
  });
});

describe('a check', () => {
  it('fails within its time while another process locks the database, and not afterwards', async () => {
    const other = new Database(file);
    other.exec('BEGIN EXCLUSIVE');

    await expect(repository.check()).rejects.toThrow(RepositoryUnavailableError);

    other.close();
    await repository.check();
  });
});
