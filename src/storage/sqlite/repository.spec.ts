import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import { skip, skipSecond } from '../../../test/support/clocks.js';
import { readPlants } from '../../../test/support/sqlite-file.js';
import { until } from '../../../test/support/until.js';
import { DATABASE_DEFAULTS, engineOf, openRepository } from '../engines.js';
import { type PlantRepository, RepositoryUnavailableError } from '../plant-repository.js';
import { openSqliteDatabase, withSqliteDatabase } from './open.js';
import { firstValue, type SqliteDatabase } from './statements.js';

/** The result of an authorizer: https://sqlite.org/c3ref/c_deny.html */
const [SQLITE_OK, SQLITE_DENY] = [0, 1];

let directory: string;
let file: string;
let repository: PlantRepository;
/** Another connection to the same file. */
let other: SqliteDatabase;

const open = (path = file): Promise<PlantRepository> => openRepository(`sqlite:${path}`, { timeout: 100 });

/** Returns the connection of the repository: other connections do not see its settings. */
const ownDatabase = (): SqliteDatabase => Reflect.get(repository, 'database') as SqliteDatabase;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
  file = join(directory, 'plants.db');
  repository = await open();
  ({ database: other } = await openSqliteDatabase(file, () => undefined));
});

afterEach(async () => {
  jest.restoreAllMocks();
  other.close();
  // A test may have removed its files.
  await repository.close().catch(() => undefined);
  rmSync(directory, { recursive: true });
});

describe('the SQLite database', () => {
  it('is a strict table with the number of its schema, in a log that is synced at each commit', () => {
    expect(firstValue(other, 'PRAGMA journal_mode')).toBe('wal');
    expect(firstValue(other, 'PRAGMA user_version')).toBe(1n);
    expect(firstValue(other, "SELECT strict FROM pragma_table_list WHERE name = 'plants'")).toBe(1n);
    // FULL: https://sqlite.org/pragma.html#pragma_synchronous
    expect(firstValue(ownDatabase(), 'PRAGMA synchronous')).toBe(2n);
    expect(firstValue(ownDatabase(), 'PRAGMA fullfsync')).toBe(1n);
  });

  it('copies its log into the database file at 2,000 pages, and never blocks the process while it waits for a lock', () => {
    expect(firstValue(ownDatabase(), 'PRAGMA wal_autocheckpoint')).toBe(2_000n);
    expect(firstValue(ownDatabase(), 'PRAGMA page_size')).toBe(4_096n);
    expect(firstValue(ownDatabase(), 'PRAGMA busy_timeout')).toBe(0n);
    expect(firstValue(ownDatabase(), 'PRAGMA cache_size')).toBe(-4_096n);
  });

  it.each([
    ['(id INTEGER PRIMARY KEY, name TEXT)', 'table plants has no column named tag'],
    ['(id TEXT PRIMARY KEY, name TEXT, tag TEXT)', 'it has a table plants that changes values'],
    // STRING is no type of SQLite: 007 becomes the number 7.
    ['(id INTEGER PRIMARY KEY, name STRING, tag TEXT)', 'it has a table plants that changes values'],
    ['(id INTEGER PRIMARY KEY, name TEXT, tag STRING)', 'it has a table plants that changes values'],
    ['(id INTEGER, name TEXT, tag TEXT, PRIMARY KEY (id, name))', 'ON CONFLICT clause does not match any PRIMARY KEY'],
    ['(id INTEGER PRIMARY KEY, name TEXT, tag TEXT, bed TEXT NOT NULL)', 'NOT NULL constraint failed: plants.bed'],
    ['(id INTEGER PRIMARY KEY, name TEXT UNIQUE, tag TEXT)', 'UNIQUE constraint failed: plants.name'],
  ])('is refused with a table of another program: %s', async (table, reason) => {
    other.exec(`DROP TABLE plants; CREATE TABLE plants ${table}`);

    await expect(open()).rejects.toThrow(reason);
    await expect(open()).rejects.toThrow(/^the database [^\n]+; [^;\n]*name another file$/);
    await expect((await engineOf(`sqlite:${file}`)).check(DATABASE_DEFAULTS)).rejects.toThrow(reason);
  });

  it('is refused with a trigger that ignores plants', async () => {
    other.exec('CREATE TRIGGER ignoring BEFORE INSERT ON plants WHEN new.tag IS NULL BEGIN SELECT RAISE(IGNORE); END');

    await expect(open()).rejects.toThrow('it has a table plants that changes values');
  });

  it('refuses a plant that a trigger keeps out, which was made later', async () => {
    other.exec('CREATE TRIGGER t BEFORE INSERT ON plants BEGIN SELECT RAISE(IGNORE); END');

    await expect(repository.add([{ id: 1n, name: 'Monstera' }])).rejects.toThrow('look at the triggers of the table');
  });

  it('takes an error of a trigger that was made later for no failure of the store', async () => {
    other.exec('CREATE TRIGGER t BEFORE INSERT ON plants BEGIN SELECT json(new.name); END');
    const added = repository.add([{ id: 1n, name: 'Monstera' }]);

    await expect(added).rejects.toThrow('malformed JSON');
    await expect(added).rejects.not.toThrow(RepositoryUnavailableError);
  });

  it('is left as it is where the table of an operator lacks a column, and numbered once the table has it', async () => {
    other.exec('DROP TABLE plants; CREATE TABLE plants (id INTEGER PRIMARY KEY, name TEXT); PRAGMA user_version = 0');

    await expect(open()).rejects.toThrow(
      `the database ${file} cannot be used: table plants has no column named tag; if another program made its table ` +
        'plants, name another file',
    );
    expect(firstValue(other, 'PRAGMA user_version')).toBe(0n);

    other.exec('ALTER TABLE plants ADD COLUMN tag TEXT');
    await (await open()).close();
    expect(firstValue(other, 'PRAGMA user_version')).toBe(1n);
  });

  it('is found under another spelling of its name', async () => {
    other.exec('DROP TABLE plants; CREATE TABLE Plants (id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT)');

    expect(await (await engineOf(`sqlite:${file}`)).check(DATABASE_DEFAULTS)).toBe(true);
    const snapshot = await (await engineOf(`sqlite:${file}`)).snapshot(DATABASE_DEFAULTS);
    expect(await snapshot?.count()).toBe(0);
    await snapshot?.close();
  });

  it('says which column is missing when it is read', async () => {
    other.exec('DROP TABLE plants; CREATE TABLE plants (id INTEGER PRIMARY KEY, name TEXT)');
    const snapshot = await (await engineOf(`sqlite:${file}`)).snapshot(DATABASE_DEFAULTS);

    await expect(snapshot?.plants()[Symbol.asyncIterator]().next()).rejects.toThrow(
      `the database ${file} cannot be read: no such column: tag; if another program`,
    );
    await snapshot?.close();
  });

  it('may have texts that ignore case: another case is another plant', async () => {
    other.exec(
      'DROP TABLE plants; CREATE TABLE plants (id INTEGER PRIMARY KEY, name COLLATE NOCASE, tag COLLATE NOCASE)',
    );
    const opened = await open();
    await opened.add([{ id: 1n, name: 'Monstera', tag: 'indoor' }]);

    expect(await opened.add([{ id: 1n, name: 'MONSTERA', tag: 'indoor' }])).toEqual(['conflict']);
    expect(await opened.add([{ id: 1n, name: 'Monstera', tag: 'Indoor' }])).toEqual(['conflict']);
    expect(await opened.add([{ id: 1n, name: 'Monstera', tag: 'indoor' }])).toEqual(['repeated']);
    await opened.close();
  });

  it('may have a table that an operator has made, in UTF-16 and with columns that need no value', async () => {
    const table = "plants (id INTEGER PRIMARY KEY, name TEXT, tag TEXT, fits TEXT NOT NULL DEFAULT '')";
    await withSqliteDatabase(`${file}-made`, (database) => {
      database.exec(`PRAGMA encoding = 'UTF-16'; CREATE TABLE ${table}`);
    });

    const opened = await open(`${file}-made`);
    expect(await opened.add([{ id: 1n, name: 'Monstera' }])).toEqual(['created']);
    expect(await opened.add([{ id: 1n, name: 'Monstera' }])).toEqual(['repeated']);
    await opened.close();
  });

  it('is refused, with the next step, when its table is gone', async () => {
    other.exec('DROP TABLE plants');
    const engine = await engineOf(`sqlite:${file}`);

    for (const use of ['open', 'snapshot', 'check'] as const) {
      await expect(engine[use](DATABASE_DEFAULTS)).rejects.toThrow(
        `the database ${file} cannot be used: it has no table of plants any more; restore a backup, or name another database`,
      );
    }
  });

  it('is refused when its schema is newer than the program', async () => {
    other.exec('PRAGMA user_version = 9999');

    const engine = await engineOf(`sqlite:${file}`);

    for (const use of ['open', 'snapshot', 'check'] as const) {
      await expect(engine[use](DATABASE_DEFAULTS)).rejects.toThrow(
        `the database ${file} cannot be used: it has a schema that is newer than this version; run the version that ` +
          'made it, or a newer one',
      );
    }
  });

  it('stores plants again at once after a long lock and a quiet time, although another process locks it for a moment', async () => {
    const patient = await openRepository(`sqlite:${file}`, { timeout: 300 });
    other.exec('BEGIN IMMEDIATE');
    await expect(patient.add([{ id: 1n, name: 'Monstera' }])).rejects.toThrow(RepositoryUnavailableError);
    const refused = performance.now();
    await until('the quiet time is over', () => performance.now() - refused > 300);

    const added = patient.add([{ id: 1n, name: 'Monstera' }]);
    setImmediate(() => other.exec('ROLLBACK'));
    const began = performance.now();

    expect(await added).toEqual(['created']);
    // It tries every millisecond.
    expect(performance.now() - began).toBeLessThan(900);
    await patient.close();
  });

  it('ends a check that waits for a lock after a second, and a batch after the timeout', async () => {
    const patient = await openRepository(`sqlite:${file}`, { timeout: 60_000 });
    other.exec('BEGIN IMMEDIATE');
    const began = performance.now();

    await expect(patient.check?.()).rejects.toThrow(
      'the database cannot store plants: database is locked; stop the other process that uses it',
    );
    expect(performance.now() - began).toBeLessThan(5_000);
    await expect(repository.add([{ id: 1n, name: 'Monstera' }])).rejects.toThrow(
      'the database did not confirm the plants: database is locked; stop the other process that uses it',
    );
    other.exec('ROLLBACK');
    await patient.close();
  }, 20_000);

  it('takes the first batch after a long lock, although another process still locks it for a moment', async () => {
    const patient = await openRepository(`sqlite:${file}`, { timeout: 2_000 });
    const batch = [{ id: 1n, name: 'Monstera' }];
    other.exec('BEGIN IMMEDIATE');
    await expect(patient.add(batch)).rejects.toThrow('database is locked');
    const added = patient.add(batch);
    other.exec('ROLLBACK');

    expect(await added).toEqual(['created']);
    await patient.close();
  });

  it('waits for a lock after a defect, which is no outage', async () => {
    const patient = await openRepository(`sqlite:${file}`, { timeout: 60_000 });
    await expect(patient.add([{ id: 2n ** 63n, name: 'an id beyond int64' }])).rejects.toThrow('too large to bind');
    other.exec('BEGIN IMMEDIATE');
    const added = patient.add([{ id: 1n, name: 'Monstera' }]);
    // More than a fiftieth of the timeout. The lock lasts for some more attempts.
    skip(2_000);
    setTimeout(() => other.exec('ROLLBACK'), 50);

    expect(await added).toEqual(['created']);
    await patient.close();
  });

  it('is waited for at the start while another process locks it, with the reason', async () => {
    other.exec('PRAGMA user_version = 0; DROP TABLE plants; BEGIN IMMEDIATE');
    const reasons: string[] = [];
    const opening = openRepository(`sqlite:${file}`, {
      onWait: (reason) => {
        reasons.push(reason);
        other.exec('ROLLBACK');
      },
    });

    await (await opening).close();
    expect(reasons).toEqual([
      `the database ${file} cannot be used: database is locked; stop the other process that uses it`,
    ]);
  });

  it.each([
    ['a short lock is not said', (attempts: number) => attempts === 2, false],
    ['a lock that lasts is said', (_attempts: number, isSaid: boolean) => isSaid, true],
  ])('is opened again until it is not locked: %s', async (_, isReleased, expected) => {
    other.exec('BEGIN IMMEDIATE');
    let attempts = 0;
    let isSaid = false;
    const begin = (database: SqliteDatabase): void => {
      attempts += 1;
      if (isReleased(attempts, isSaid)) other.exec('ROLLBACK');
      database.exec('BEGIN IMMEDIATE');
    };

    const { database } = await openSqliteDatabase(file, begin, { onWait: () => (isSaid = true) });

    database.close();
    expect(isSaid).toBe(expected);
  });

  it('is not created in a directory that does not exist, unless that is asked for', async () => {
    const path = join(directory, 'new/plants.db');

    await expect(open(path)).rejects.toThrow(
      `it is in a directory that does not exist; create ${join(directory, 'new')}, or correct its URL`,
    );
    await (await openRepository(`sqlite:${path}`, { createsDirectory: true })).close();
    expect(readPlants(path)).toEqual([]);
  });

  it('belongs to the owner of its directory where root creates it', async () => {
    const path = join(directory, 'new.db');
    if (process.getuid?.() === 0) chownSync(directory, 12_345, 12_346);
    const { uid, gid } = statSync(directory);
    await (await open(path)).close();

    expect(statSync(path)).toMatchObject({ uid, gid });
  });

  it('fails its check when its files are gone', async () => {
    rmSync(`${file}-wal`);

    await expect(repository.check?.()).rejects.toThrow(/were removed or replaced: put them back$/);
  });

  it('is unavailable when it is full', async () => {
    ownDatabase().exec('PRAGMA max_page_count = 2');

    await expect(repository.add([{ id: 1n, name: 'n'.repeat(10_000) }])).rejects.toThrow(RepositoryUnavailableError);
  });

  it('stores nothing of a batch in which one plant fails', async () => {
    await expect(
      repository.add([
        { id: 1n, name: 'Monstera' },
        { id: 2n ** 63n, name: 'an id beyond int64' },
      ]),
    ).rejects.not.toThrow(RepositoryUnavailableError);

    expect(firstValue(other, 'SELECT count(*) FROM plants')).toBe(0n);
    expect(await repository.add([{ id: 1n, name: 'Ficus' }])).toEqual(['created']);
  });

  it('fails with the error of a batch that it cannot roll back, and is unavailable until it can', async () => {
    ownDatabase().setAuthorizer((_action, operation) => (operation === 'ROLLBACK' ? SQLITE_DENY : SQLITE_OK));
    const batch = [
      { id: 1n, name: 'Monstera' },
      { id: 2n ** 63n, name: 'an id beyond int64' },
    ];

    await expect(repository.add(batch)).rejects.toThrow('BigInt value is too large to bind');
    expect(ownDatabase().isTransaction).toBe(true);
    await expect(repository.add([{ id: 2n, name: 'Ficus' }])).rejects.toThrow(RepositoryUnavailableError);
    ownDatabase().setAuthorizer(null);

    expect(await repository.add([{ id: 2n, name: 'Ficus' }])).toEqual(['created']);
    expect(readPlants(file)).toEqual([{ id: 2n, name: 'Ficus', tag: null }]);
  });
});

describe('a database in memory', () => {
  it('stores plants, and takes no snapshot', async () => {
    const memory = await openRepository('sqlite::memory:');

    expect(await memory.add([{ id: 1n, name: 'Monstera' }])).toEqual(['created']);
    await memory.check?.();
    await expect(memory.snapshot?.()).rejects.toThrow(RepositoryUnavailableError);
    await expect(memory.snapshot?.()).rejects.toThrow(
      'the database in memory cannot be used: no other connection can open it',
    );
    await memory.close();
  });

  it('says so in the words of the port when the driver cannot close it', async () => {
    const memory = await openRepository('sqlite::memory:');
    await memory.close();

    await expect(memory.close()).rejects.toThrow(RepositoryUnavailableError);
    await expect(memory.close()).rejects.toThrow('the database cannot be closed: ');
  });
});

describe('the file of a URL', () => {
  const working = process.cwd();

  beforeEach(() => {
    process.chdir(directory);
    mkdirSync('disk');
    symlinkSync('disk', 'link');
    symlinkSync('disk/linked.db', 'link.db');
  });

  afterEach(() => process.chdir(working));

  it.each([
    ['trimmed.db ', 'trimmed.db'],
    ['./elsewhere/../dots.db', 'dots.db'],
    ['escaped%20.db', 'escaped%20.db'],
    ['file:uri.db?mode=memory', 'file:uri.db?mode=memory'],
    ['link/plants.db', 'disk/plants.db'],
  ])('of sqlite: and %j is %s, whose log must not be removed', async (path, name) => {
    const opened = await openRepository(`sqlite:${path}`);
    await opened.add([{ id: 1n, name: 'Monstera' }]);
    expect(readPlants(join(directory, name))).toHaveLength(1);
    rmSync(`${name}-wal`);

    await expect(opened.add([{ id: 2n, name: 'Ficus' }])).rejects.toThrow(/were removed or replaced: put them back$/);
    await expect(opened.close()).rejects.toThrow(/were removed or replaced: put them back$/);
  });

  it('is not another one that a symbolic link leads to later', async () => {
    const opened = await openRepository('sqlite:link.db');
    rmSync('link.db');
    symlinkSync('plants.db', 'link.db');

    await expect(opened.add([{ id: 1n, name: 'Monstera' }])).rejects.toThrow(
      /were removed or replaced: put them back$/,
    );
    await expect(opened.close()).rejects.toThrow(/were removed or replaced: put them back$/);
  });
});

describe('files that are gone or replaced', () => {
  it.each<[what: string, change: () => unknown]>([
    ['the database is removed', () => rmSync(file)],
    ['the write-ahead log is removed', () => rmSync(`${file}-wal`)],
    ['the index of the log is removed', () => rmSync(`${file}-shm`)],
    ['the database is emptied', () => truncateSync(file)],
    [
      'another database replaces it',
      async () => {
        await (await open(`${file}-other`)).close();
        renameSync(file, `${file}-away`);
        renameSync(`${file}-other`, file);
      },
    ],
  ])('end all creates and snapshots: %s', async (_, change) => {
    await repository.add([{ id: 1n, name: 'Monstera' }]);

    await change();

    for (const id of [1n, 2n]) {
      const added = repository.add([{ id, name: 'Monstera' }]);
      await expect(added).rejects.toThrow(RepositoryUnavailableError);
      await expect(added).rejects.toThrow(/were removed or replaced: put them back$/);
    }
    const snapshot = repository.snapshot?.();
    await expect(snapshot).rejects.toThrow(RepositoryUnavailableError);
    await expect(snapshot).rejects.toThrow(/were removed or replaced: put them back$/);
  });
});

describe('a database that is named as a log', () => {
  it('takes no plants when it is emptied', async () => {
    const opened = await open(join(directory, 'plants-wal'));
    truncateSync(join(directory, 'plants-wal'));

    await expect(opened.add([{ id: 1n, name: 'Monstera' }])).rejects.toThrow(
      /were removed or replaced: put them back$/,
    );
    await expect(opened.close()).rejects.toThrow(/were removed or replaced: put them back$/);
  });
});

describe('a log that another program has removed and made anew', () => {
  it('ends all creates if the repository has missed it', async () => {
    await repository.add([{ id: 1n, name: 'Monstera' }]);
    rmSync(`${file}-wal`);
    await expect(repository.add([{ id: 2n, name: 'Monstera' }])).rejects.toThrow(
      /were removed or replaced: put them back$/,
    );
    writeFileSync(`${file}-wal`, '');

    await expect(repository.add([{ id: 2n, name: 'Monstera' }])).rejects.toThrow(
      /were removed or replaced: put them back$/,
    );
    await expect(repository.add([{ id: 2n, name: 'Monstera' }])).rejects.toThrow(
      /were removed or replaced: put them back$/,
    );
  });

  it('ends creates a second later if the repository has not missed it', async () => {
    await repository.add([{ id: 1n, name: 'Monstera' }]);
    rmSync(`${file}-wal`);
    writeFileSync(`${file}-wal`, '');
    skipSecond();

    await expect(repository.add([{ id: 2n, name: 'Monstera' }])).rejects.toThrow(
      /were removed or replaced: put them back$/,
    );
  });

  it('stays as it is when the repository closes, at once', async () => {
    await repository.add([{ id: 1n, name: 'Monstera' }]);
    rmSync(`${file}-wal`);
    writeFileSync(`${file}-wal`, '');

    await expect(repository.close()).rejects.toThrow(/were removed or replaced: put them back$/);

    expect(existsSync(`${file}-wal`)).toBe(true);
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

    await expect(repository.add(batch)).rejects.toThrow(/were removed or replaced: put them back$/);
    renameSync(`${directory}-away`, directory);

    expect(await repository.add([{ id: 2n, name: 'Ficus' }])).toEqual(['created']);
    expect(firstValue(other, 'SELECT name FROM plants WHERE id = 2')).toBe('Ficus');
  });

  it('refuse a batch before it is written', async () => {
    expect(firstValue(other, 'SELECT count(*) FROM plants')).toBe(0n);
    renameSync(`${file}-wal`, `${file}-away`);
    await expect(repository.add([{ id: 1n, name: 'Monstera' }])).rejects.toThrow(
      /were removed or replaced: put them back$/,
    );
    renameSync(`${file}-away`, `${file}-wal`);

    expect(firstValue(other, 'SELECT count(*) FROM plants')).toBe(0n);
  });
});
