import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SQLITE_DRIVERS } from '../../test/support/sqlite-drivers.js';
import { backUp } from './backup.js';
import { openSqliteDatabase } from './sqlite-driver.js';
import { openSqliteRepository } from './sqlite-repository.js';

describe.each(SQLITE_DRIVERS)('a backup with %s', (driver) => {
  let directory: string;
  let file: string;
  let target: string;

  /** Creates a database with this many plants. */
  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
    file = join(directory, 'plants.db');
    target = join(directory, 'backup.db');
    await (await openSqliteRepository(file, { timeout: 100 }, driver)).close();
    const database = await openSqliteDatabase(file, driver);
    database.exec(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
       INSERT INTO plants SELECT i, 'plant ' || i, NULL FROM n`,
    );
    database.close();
  });

  afterEach(() => rmSync(directory, { recursive: true }));

  it('is one file with the plants that were stored before it began', async () => {
    const repository = await openSqliteRepository(file, { timeout: 100 }, driver);
    const parts: number[] = [];
    let adding: Promise<unknown> = Promise.resolve();
    const count = await backUp(
      `sqlite:${file}`,
      target,
      (part) => {
        parts.push(part);
        adding = repository.add([{ id: BigInt(-parts.length), name: 'stored meanwhile' }]);
      },
      driver,
    );
    await adding;
    await repository.close();

    expect(count).toBe(200_000);
    expect(parts.length).toBeGreaterThan(0);
    expect(parts).toEqual([...parts].sort((one, other) => one - other));
    expect(readdirSync(directory).sort()).toEqual(['backup.db', 'plants.db']);
    const copy = await openSqliteDatabase(target, driver);
    expect(copy.prepare('SELECT min(id) AS least, max(id) AS greatest FROM plants').get()).toEqual({
      least: 1n,
      greatest: 200_000n,
    });
    copy.close();
  });

  it('leaves no files when its caller aborts it', async () => {
    const progress = (): void => {
      throw new Error('interrupted');
    };

    await expect(backUp(`sqlite:${file}`, target, progress, driver)).rejects.toThrow('interrupted');
    expect(readdirSync(directory)).toEqual(['plants.db']);
  });

  it.each(['', '-wal', '-shm', '-journal'])(
    'does not touch a file backup.db%s that appears meanwhile',
    async (suffix) => {
      const progress = (): void => writeFileSync(target + suffix, 'something of value');

      await expect(backUp(`sqlite:${file}`, target, progress, driver)).rejects.toThrow(
        `${target}${suffix} already exists: name another file`,
      );
      expect(readFileSync(target + suffix, 'utf8')).toBe('something of value');
      expect(readdirSync(directory).sort()).toEqual([`backup.db${suffix}`, 'plants.db']);
    },
  );

  it('does not replace a symbolic link that leads to no file', async () => {
    symlinkSync('elsewhere', target);

    await expect(backUp(`sqlite:${file}`, target, () => undefined, driver)).rejects.toThrow(
      `${target} already exists: name another file`,
    );
    expect(readlinkSync(target)).toBe('elsewhere');
    expect(readdirSync(directory).sort()).toEqual(['backup.db', 'plants.db']);
  });

  it('goes to a file whose name looks like a URI', async () => {
    const current = process.cwd();
    process.chdir(directory);
    const backup = backUp(`sqlite:${file}`, 'file:backup.db?mode=memory', () => undefined, driver);
    expect(await backup.finally(() => process.chdir(current))).toBe(200_000);

    expect(readdirSync(directory).sort()).toEqual(['file:backup.db?mode=memory', 'plants.db']);
  });

  it('refuses a damaged database, and leaves no files', async () => {
    const bytes = readFileSync(file);
    writeFileSync(file, bytes.fill(0xaa, bytes.length / 2, bytes.length / 2 + 4_096));

    await expect(backUp(`sqlite:${file}`, target, () => undefined, driver)).rejects.toThrow(
      /^no backup was made, because the database is damaged: [^\n]+$/,
    );
    expect(readdirSync(directory)).toEqual(['plants.db']);
  });
});
