import { mkdirSync, mkdtempSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readPlants } from '../../../test/support/sqlite-file.js';
import { DATABASE_DEFAULTS } from '../engine.js';
import { engineOf, openRepository } from '../engines.js';
import { type PlantRepository, RepositoryUnavailableError } from '../plant-repository.js';
import { firstValue, openDatabase, type SqliteDatabase } from './database.js';

const MONSTERA = { id: 1n, name: 'Monstera' };

let directory: string;
let file: string;
let repository: PlantRepository;
/** Another connection to the same file. */
let other: SqliteDatabase;

/** Returns the connection of the repository: other connections do not see its settings. */
const ownDatabase = (): SqliteDatabase => Reflect.get(repository, 'database') as SqliteDatabase;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
  file = join(directory, 'plants.db');
  repository = await openRepository(`sqlite:${file}`);
  other = await openDatabase(file, (database) => database);
});

afterEach(async () => {
  other.close();
  await repository.close();
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
    expect(firstValue(ownDatabase(), 'PRAGMA wal_autocheckpoint')).toBe(2_000n);
    // It must not block the process while it waits for a lock.
    expect(firstValue(ownDatabase(), 'PRAGMA busy_timeout')).toBe(0n);
  });

  it.each([
    ['its schema is newer than the program', 'PRAGMA user_version = 9999', 'it has a schema that is newer than this'],
    ['its table is gone', 'DROP TABLE plants', 'no such table: '],
  ])('is refused when %s', async (_, change, reason) => {
    other.exec(change);
    const engine = await engineOf(`sqlite:${file}`);

    for (const opened of [engine.open(DATABASE_DEFAULTS), engine.plants(DATABASE_DEFAULTS).next()]) {
      await expect(opened).rejects.toThrow(`the database ${file} cannot be used: ${reason}`);
    }
  });

  it('is created with its directory', async () => {
    const path = join(directory, 'new/plants.db');
    await (await openRepository(`sqlite:${path}`)).close();

    expect(readPlants(path)).toEqual([]);
  });

  it('can be in memory', async () => {
    const memory = await openRepository('sqlite::memory:');

    expect(await memory.add([MONSTERA])).toEqual(['created']);
    await memory.check?.();
    await memory.close();
  });
});

describe('a check', () => {
  it('writes nothing', async () => {
    const read = (): unknown => [statSync(`${file}-wal`).size, firstValue(other, 'PRAGMA data_version')];
    const before = read();
    await repository.check?.();

    expect(read()).toEqual(before);
  });

  it('does not wait for a lock of another process as long as a batch', async () => {
    const patient = await openRepository(`sqlite:${file}`, { timeout: 60_000 });
    other.exec('BEGIN IMMEDIATE');
    const began = performance.now();

    await expect(patient.check?.()).rejects.toThrow(
      'the database cannot be used: database is locked; stop the other process that uses it',
    );
    expect(performance.now() - began).toBeLessThan(5_000);
    other.exec('ROLLBACK');
    await patient.close();
  });
});

describe('a batch', () => {
  it('is not stored in part if one of its plants fails', async () => {
    const tooLarge = { id: 2n ** 63n, name: 'an id beyond int64' };
    await expect(repository.add([MONSTERA, tooLarge])).rejects.not.toThrow(RepositoryUnavailableError);

    expect(firstValue(other, 'SELECT count(*) FROM plants')).toBe(0n);
    expect(await repository.add([{ id: 1n, name: 'Ficus' }])).toEqual(['created']);
  });

  it.each([
    ['a constraint', 'CREATE UNIQUE INDEX one ON plants (name)', 'UNIQUE constraint failed: plants.name'],
    [
      'an error in a trigger',
      'CREATE TRIGGER t BEFORE INSERT ON plants BEGIN SELECT json(new.name); END',
      'malformed JSON',
    ],
  ])('is refused by %s, which is no failure of the store', async (_, change, reason) => {
    await repository.add([MONSTERA]);
    other.exec(change);
    const error = await repository.add([{ id: 2n, name: 'Monstera' }]).catch((refusal: unknown) => refusal);

    expect(error).toMatchObject({ message: expect.stringContaining(reason) as unknown });
    expect(error).not.toBeInstanceOf(RepositoryUnavailableError);
  });
});

describe('the file of a URL', () => {
  const working = process.cwd();

  beforeEach(() => {
    process.chdir(directory);
    mkdirSync('disk');
    symlinkSync('disk', 'link');
  });

  afterEach(() => process.chdir(working));

  it.each([
    ['trimmed.db ', 'trimmed.db'],
    ['./elsewhere/../dots.db', 'dots.db'],
    ['escaped%20.db', 'escaped%20.db'],
    ['file:uri.db?mode=memory', 'file:uri.db?mode=memory'],
    ['link/plants.db', 'disk/plants.db'],
  ])('of sqlite: and %j is %s', async (path, name) => {
    const opened = await openRepository(`sqlite:${path}`);
    await opened.add([MONSTERA]);
    await opened.close();

    expect(readPlants(join(directory, name))).toHaveLength(1);
  });
});

describe('a file that is removed or replaced', () => {
  const reason = (path: string): string =>
    `the database ${path} was removed or replaced: put it back with mv. If it was copied back, stop all services of this ` +
    'file, and start them. To use another file, such as a backup: stop all services, move ' +
    `${file}-wal and ${file}-shm away, and start them`;

  it.each([
    ['removed', () => renameSync(file, `${file}-away`), () => renameSync(`${file}-away`, file)],
    [
      'in a directory that is moved away',
      () => renameSync(directory, `${directory}-away`),
      () => renameSync(`${directory}-away`, directory),
    ],
  ])('makes the store unavailable until it is back: %s', async (_, change, undo) => {
    change();
    for (const call of [repository.add([MONSTERA]), repository.check?.()]) {
      await expect(call).rejects.toThrow(new RepositoryUnavailableError(reason(file)));
    }
    undo();

    expect(await repository.add([MONSTERA])).toEqual(['created']);
  });

  it('is missed behind a symbolic link, too, whose log is beside the file itself', async () => {
    const link = join(directory, 'link.db');
    symlinkSync(file, link);
    const opened = await openRepository(`sqlite:${link}`);
    rmSync(link);
    symlinkSync('/dev/null', link);

    await expect(opened.add([MONSTERA])).rejects.toThrow(new RepositoryUnavailableError(reason(link)));
    await opened.close();
  });
});
