import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { firstValue, openSqliteDatabase, prepare, type SqliteDatabase } from './sqlite-database.js';
import { sqliteFailure, sqliteStartError } from './sqlite-errors.js';

describe('the driver of SQLite', () => {
  let directory: string;
  let file: string;
  let database: SqliteDatabase;

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
    file = join(directory, 'plants.db');
    database = await openSqliteDatabase(file);
    database.exec('CREATE TABLE plants (id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT) STRICT');
  });

  afterEach(() => {
    database.close();
    rmSync(directory, { recursive: true });
  });

  function errorOf(action: () => unknown): unknown {
    try {
      action();
    } catch (error) {
      return error;
    }
    throw new Error('it did not fail');
  }

  it.each([-(2n ** 63n), 9_007_199_254_740_993n, 2n ** 63n - 1n])('keeps the integer %s exactly', (id) => {
    const insert = prepare(database, 'INSERT INTO plants VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING');
    const find = prepare(database, 'SELECT * FROM plants WHERE id = ?');

    expect(insert.run(id, 'Monstera', null).changes).toBe(1n);
    expect(insert.run(id, 'Monstera', null).changes).toBe(0n);
    expect(find.get(id)).toEqual([id, 'Monstera', null]);
    expect(find.get(0n)).toBeUndefined();
  });

  it('opens a file whose name looks like a URI', async () => {
    const current = process.cwd();
    process.chdir(directory);
    const strange = await openSqliteDatabase('file:x.db?mode=memory');
    process.chdir(current);
    strange.exec('CREATE TABLE plants (id)');
    strange.close();

    const again = await openSqliteDatabase(join(directory, 'file:x.db?mode=memory'));
    expect(firstValue(again, 'SELECT * FROM plants')).toBeUndefined();
    again.close();
  });

  it('reports a lock as a transient failure', async () => {
    const other = await openSqliteDatabase(file);
    other.exec('BEGIN EXCLUSIVE');
    database.exec('PRAGMA busy_timeout = 0');

    const error = errorOf(() => database.exec('BEGIN IMMEDIATE'));
    other.close();

    expect(sqliteFailure(error)).toBe('transient');
    expect(sqliteStartError('plants.db', error).message).toBe(
      'the database plants.db is locked by another process; stop it first',
    );
  });

  it('reports a full database as unavailable', () => {
    database.exec('PRAGMA max_page_count = 2');

    const error = errorOf(() =>
      database.prepare('INSERT INTO plants VALUES (?, ?, ?)').run(1n, 'n'.repeat(10_000), null),
    );

    expect(sqliteFailure(error)).toBe('unavailable');
  });

  it('reports bad SQL as a defect, with its message', () => {
    const error = errorOf(() => database.prepare('SELECT name FROM nowhere'));

    expect(sqliteFailure(error)).toBeUndefined();
    expect(sqliteStartError('plants.db', error).message).toBe(
      'the database plants.db cannot be used: no such table: nowhere',
    );
  });
});
