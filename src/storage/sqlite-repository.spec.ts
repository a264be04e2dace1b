import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SQLITE_DRIVERS } from '../../test/support/sqlite-drivers.js';
import { openRepository } from './open-repository.js';
import { type PlantRepository, RepositoryUnavailableError } from './plant-repository.js';
import { openSqliteDatabase, type SqliteDatabase } from './sqlite-driver.js';
import { openSqliteRepository } from './sqlite-repository.js';

describe.each(SQLITE_DRIVERS)('with %s,', (driver) => {
  let directory: string;
  let file: string;
  let repository: PlantRepository;
  /** Another connection to the same file. */
  let other: SqliteDatabase;

  const open = (path = file): Promise<PlantRepository> => openSqliteRepository(path, { timeout: 100 }, driver);

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
    file = join(directory, 'plants.db');
    repository = await open();
    other = await openSqliteDatabase(file, driver);
  });

  afterEach(async () => {
    other.close();
    await repository.close();
    rmSync(directory, { recursive: true });
  });

  describe('the SQLite database', () => {
    it('stores nothing while another process locks it, and can be retried', async () => {
      other.exec('BEGIN EXCLUSIVE');

      await expect(repository.add([{ id: 1n, name: 'Monstera' }])).rejects.toThrow(RepositoryUnavailableError);

      other.exec('ROLLBACK');
      expect(await repository.add([{ id: 1n, name: 'Monstera' }])).toEqual(['created']);
    });

    it('counts its plants, those of other programs and those stored while it counts included', async () => {
      const plants = Array.from({ length: 5_000 }, (_, index) => ({ id: BigInt(index), name: 'Monstera' }));
      await repository.add([...plants.slice(0, 3_000), ...plants.slice(0, 1_000)]);
      expect(await repository.count()).toBe(3_000);

      other.exec("INSERT INTO plants (id, name) VALUES (-1, 'Ficus')");
      const counted = repository.count();
      // The first slice is counted: it ends between these ids.
      await repository.add([...plants.slice(2_990), { id: -2n, name: 'Aloe' }]);

      expect(await counted).toBe(5_002);
      expect(await repository.add([{ id: 5_000n, name: 'Aloe' }])).toEqual(['created']);
      expect(await repository.count()).toBe(5_003);
    });

    it('is a strict table in a write-ahead log', () => {
      expect(other.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' });
      expect(other.prepare("SELECT strict FROM pragma_table_list WHERE name = 'plants'").get()).toEqual({ strict: 1n });
    });

    describe('whose log is allocated at the start', () => {
      const openAllocated = (): Promise<PlantRepository> =>
        openSqliteRepository(file, { timeout: 100, allocateLog: true }, driver);
      const logSize = (): number => statSync(`${file}-wal`).size;

      it('has a log that plants do not let grow, not even beyond a checkpoint', async () => {
        const allocated = await openAllocated();
        const size = logSize();
        expect(size).toBeGreaterThan(33_554_432);
        expect(await allocated.count()).toBe(0);

        // Each plant fills a page.
        const plants = Array.from({ length: 9_000 }, (_, id) => ({ id: BigInt(id), name: 'x'.repeat(4_000) }));
        while (plants.length > 0) await allocated.add(plants.splice(0, 256));

        expect(await allocated.count()).toBe(9_000);
        expect(statSync(file).size).toBeGreaterThan(33_554_432);
        expect(logSize()).toBe(size);
        await allocated.close();
      });

      it('keeps the plants that are in the log already', async () => {
        await repository.add([{ id: 1n, name: 'Monstera' }]);

        const allocated = await openAllocated();
        expect(await allocated.add([{ id: 1n, name: 'Monstera' }])).toEqual(['repeated']);
        await allocated.close();
      });

      it('opens at once while another process writes', async () => {
        other.exec('BEGIN IMMEDIATE');

        const allocated = await openAllocated();
        expect(logSize()).toBeLessThan(1_048_576);

        other.exec('ROLLBACK');
        expect(await allocated.add([{ id: 1n, name: 'Monstera' }])).toEqual(['created']);
        await allocated.close();
      });
    });

    it('is refused when the file is not a database', async () => {
      const none = join(directory, 'none.db');
      writeFileSync(none, 'the text of another program');

      await expect(open(none)).rejects.toThrow(
        `the database ${none} is not a SQLite database, or is damaged; restore a backup or name another file`,
      );
    });

    it.each([
      ['ALTER TABLE plants RENAME COLUMN tag TO label', 'it has no column tag'],
      [
        'DROP TABLE plants; CREATE TABLE plants (id TEXT PRIMARY KEY, name TEXT, tag TEXT)',
        'its column id has the type TEXT instead of INTEGER',
      ],
      ['DROP TABLE plants; CREATE TABLE plants (id INTEGER, name TEXT, tag TEXT)', 'its column id is not a key'],
      [
        'DROP TABLE plants; CREATE TABLE plants (id INTEGER, name TEXT, tag TEXT, PRIMARY KEY (id, name))',
        'its column id is not a key',
      ],
      [
        'DROP TABLE plants; CREATE TABLE plants (id INTEGER PRIMARY KEY, name TEXT, tag TEXT, bed TEXT NOT NULL)',
        'its column bed must have a value',
      ],
    ])("is refused when its table of plants is another program's: after %s", async (change, difference) => {
      other.exec(change);

      await expect(open()).rejects.toThrow(
        `the database ${file} has a table plants of another program: ${difference}; name another file`,
      );
    });

    it('may have columns that need no value', async () => {
      other.exec(
        "ALTER TABLE plants ADD COLUMN bed TEXT NOT NULL DEFAULT 'first'; ALTER TABLE plants ADD COLUMN note TEXT",
      );

      const opened = await open();
      expect(await opened.add([{ id: 1n, name: 'Monstera' }])).toEqual(['created']);
      await opened.close();
    });

    it('stores nothing of a batch in which one plant fails', async () => {
      await expect(
        repository.add([
          { id: 1n, name: 'Monstera' },
          { id: 2n ** 63n, name: 'an id beyond int64' },
        ]),
      ).rejects.not.toThrow(RepositoryUnavailableError);

      expect(other.prepare('SELECT count(*) AS count FROM plants').get()).toEqual({ count: 0n });
      expect(await repository.add([{ id: 1n, name: 'Ficus' }])).toEqual(['created']);
    });

    it('has the path of the URL without trailing spaces', async () => {
      await (await openRepository(`sqlite:${join(directory, 'trimmed.db')} `)).close();

      expect(readdirSync(directory)).toContain('trimmed.db');
    });
  });

  describe('files that are missing for a moment', () => {
    it('leave no transaction open: other processes see the plants that are created afterwards', async () => {
      const batch = [{ id: 1n, name: 'Monstera' }];
      // Called between the statements of the transaction.
      batch.map = function <Result>(...parameters: Parameters<typeof Array.prototype.map<Result>>): Result[] {
        renameSync(directory, `${directory}-away`);
        return Array.prototype.map.apply(this, parameters) as Result[];
      };

      await expect(repository.add(batch)).rejects.toThrow(/were removed or replaced$/);
      renameSync(`${directory}-away`, directory);

      expect(await repository.add([{ id: 2n, name: 'Ficus' }])).toEqual(['created']);
      expect(other.prepare('SELECT name FROM plants WHERE id = 2').get()).toEqual({ name: 'Ficus' });
    });

    it('fail the check', async () => {
      renameSync(directory, `${directory}-away`);
      await expect(repository.check()).rejects.toThrow(RepositoryUnavailableError);
      renameSync(`${directory}-away`, directory);

      await repository.check();
    });
  });

  describe('a log that is replaced', () => {
    it('by a copy of itself takes no plant, not even after another process has written to the copy', async () => {
      other.close();
      const plants = Array.from({ length: 300 }, (_, id) => ({ id: BigInt(2 * id), name: 'Monstera'.repeat(100) }));
      await repository.add(plants);
      copyFileSync(`${file}-wal`, `${file}-copy`);
      renameSync(`${file}-copy`, `${file}-wal`);
      other = await openSqliteDatabase(file, driver);
      other.exec("INSERT INTO plants (id, name) VALUES (301, 'Ficus')");

      await expect(repository.add([{ id: 1n, name: 'Aloe' }])).rejects.toThrow(/were removed or replaced$/);

      await repository.close();
      expect(other.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
      repository = await open();
      expect(await repository.add([...plants.slice(0, 1), { id: 1n, name: 'Aloe' }])).toEqual(['repeated', 'created']);
      expect(await repository.count()).toBe(302);
    });

    it('by a pipe takes no plant, until it is back', async () => {
      await repository.add([{ id: 1n, name: 'Monstera' }]);
      renameSync(`${file}-wal`, `${file}-away`);
      execFileSync('mkfifo', [`${file}-wal`]);

      await expect(repository.add([{ id: 2n, name: 'Ficus' }])).rejects.toThrow(RepositoryUnavailableError);

      renameSync(`${file}-away`, `${file}-wal`);
      expect(await repository.add([{ id: 2n, name: 'Ficus' }])).toEqual(['created']);
    });
  });

  describe('a check', () => {
    it('fails within its time while another process locks the database, and not afterwards', async () => {
      other.exec('BEGIN EXCLUSIVE');

      await expect(repository.check()).rejects.toThrow(RepositoryUnavailableError);

      other.exec('ROLLBACK');
      await repository.check();
    });

    it('leaves no transaction open when it cannot write', async () => {
      other.exec('ALTER TABLE plants RENAME TO elsewhere');
      await expect(repository.check()).rejects.toThrow(/no such table: plants$/);
      other.exec('ALTER TABLE elsewhere RENAME TO plants');

      expect(await repository.add([{ id: 1n, name: 'Monstera' }])).toEqual(['created']);
      expect(other.prepare('SELECT name FROM plants').get()).toEqual({ name: 'Monstera' });
    });
  });
});
