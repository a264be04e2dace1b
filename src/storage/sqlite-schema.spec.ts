import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { firstValue, openSqliteDatabase } from './sqlite-database.js';
import { openSqliteRepository } from './sqlite-repository.js';

describe('the schema of SQLite', () => {
  let directory: string;
  let file: string;

  const open = () => openSqliteRepository(file, 100);

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
    file = join(directory, 'plants.db');
  });

  afterEach(() => rmSync(directory, { recursive: true }));

  it('is numbered in user_version, and stays as it is when the database is opened again', async () => {
    await (await open()).close();
    await (await open()).close();

    const database = await openSqliteDatabase(file);
    expect(firstValue(database, 'PRAGMA user_version')).toBe(1n);
    database.close();
  });

  it('of a table that an operator has made is taken as it is', async () => {
    const database = await openSqliteDatabase(file);
    database.exec('CREATE TABLE plants (id INTEGER PRIMARY KEY, name TEXT, tag TEXT, note TEXT)');
    database.close();

    const repository = await open();
    expect(await repository.add([{ id: 1n, name: 'Monstera' }])).toEqual(['created']);
    await repository.close();
  });

  it('is refused when it is newer than the program', async () => {
    await (await open()).close();
    const database = await openSqliteDatabase(file);
    database.exec('PRAGMA user_version = 9999');
    database.close();

    await expect(open()).rejects.toThrow(
      `the database ${file} has a schema that is newer than this version; ` +
        'run the version that made it, or a newer one',
    );
  });
});
