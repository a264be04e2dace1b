import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SQLITE_DRIVERS } from '../../test/support/sqlite-drivers.js';
import { openSqliteDatabase } from './sqlite-driver.js';
import { openSqliteRepository } from './sqlite-repository.js';

/** A database of version 0.1.0, whose schema Kysely made. */
const KYSELY = join(import.meta.dirname, '../../test/storage/fixtures/kysely.db');

describe.each(SQLITE_DRIVERS)('the schema of SQLite, with %s,', (driver) => {
  let directory: string;
  let file: string;

  const open = () => openSqliteRepository(file, { timeout: 100 }, driver);

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
    file = join(directory, 'plants.db');
  });

  afterEach(() => rmSync(directory, { recursive: true }));

  it('is numbered in user_version, and stays as it is when the database is opened again', async () => {
    await (await open()).close();
    await (await open()).close();

    const database = await openSqliteDatabase(file, driver);
    expect(database.prepare('PRAGMA user_version').get()).toEqual({ user_version: 1n });
    database.close();
  });

  it('of version 0.1.0 is taken over: the plants stay, and new ones are stored', async () => {
    copyFileSync(KYSELY, file);

    for (const outcome of ['created', 'repeated']) {
      const repository = await open();
      expect(
        await repository.add([
          { id: -(2n ** 63n), name: 'Aloe vera' },
          { id: 1n, name: 'Monstera', tag: 'indoor' },
          { id: 9007199254740993n, name: "Bird's nest fern \u{1fab4}", tag: '' },
          { id: 2n ** 63n - 1n, name: '', tag: 'e\u0301t\u00e9' },
          { id: 1n, name: 'Ficus' },
          { id: 2n, name: 'Ficus' },
        ]),
      ).toEqual(['repeated', 'repeated', 'repeated', 'repeated', 'conflict', outcome]);
      await repository.close();
    }

    const database = await openSqliteDatabase(file, driver);
    expect(database.prepare('SELECT count(*) AS count FROM plants').get()).toEqual({ count: 5n });
    database.close();
  });

  it('is refused when it is newer than the program', async () => {
    await (await open()).close();
    const database = await openSqliteDatabase(file, driver);
    database.exec('PRAGMA user_version = 9999');
    database.close();

    await expect(open()).rejects.toThrow(
      `the database ${file} has a schema that is newer than this version; ` +
        'run the version that made it, or a newer one',
    );
  });
});
