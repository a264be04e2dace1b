import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { backUp, restore } from './backup.js';
import { firstValue, openSqliteDatabase } from './sqlite-database.js';
import { openSqliteRepository } from './sqlite-repository.js';

const { signal } = new AbortController();

let directory: string;
let file: string;
let target: string;

/** Creates a database with 1,000 plants. */
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
  file = join(directory, 'plants.db');
  target = join(directory, 'backup.db');
  const repository = await openSqliteRepository(file, 100);
  await repository.add(Array.from({ length: 1_000 }, (_, id) => ({ id: BigInt(id), name: `plant ${id}` })));
  await repository.close();
});

afterEach(() => rmSync(directory, { recursive: true }));

describe('A backup', () => {
  it('is one file with the plants that a service has stored, also those in its write-ahead log', async () => {
    const repository = await openSqliteRepository(file, 100);
    await repository.add([{ id: -1n, name: 'in the log' }]);

    expect(await backUp(file, target, signal)).toBe(1_001);

    await repository.close();
    expect(readdirSync(directory).sort()).toEqual(['backup.db', 'plants.db']);
    const copy = await openSqliteDatabase(target);
    expect(firstValue(copy, 'SELECT min(id) FROM plants')).toBe(-1n);
    copy.close();
  });

  it('leaves no files when its caller aborts it', async () => {
    await expect(backUp(file, target, AbortSignal.abort(new Error('interrupted')))).rejects.toThrow('interrupted');
    expect(readdirSync(directory)).toEqual(['plants.db']);
  });

  it.each(['', '-wal', '-shm', '-journal'])(
    'does not touch a file backup.db%s that appears meanwhile',
    async (suffix) => {
      const backup = backUp(file, target, signal);
      writeFileSync(target + suffix, 'something of value');

      await expect(backup).rejects.toThrow(`${target}${suffix} already exists: name another file`);
      expect(readFileSync(target + suffix, 'utf8')).toBe('something of value');
      expect(readdirSync(directory).sort()).toEqual([`backup.db${suffix}`, 'plants.db']);
    },
  );

  it('does not replace a symbolic link that leads to no file', async () => {
    symlinkSync('elsewhere', target);

    await expect(backUp(file, target, signal)).rejects.toThrow(`${target} already exists: name another file`);
    expect(readlinkSync(target)).toBe('elsewhere');
    expect(readdirSync(directory).sort()).toEqual(['backup.db', 'plants.db']);
  });

  it('goes to a file whose name looks like a URI', async () => {
    const current = process.cwd();
    process.chdir(directory);
    const backup = backUp(file, 'file:backup.db?mode=memory', signal);
    expect(await backup.finally(() => process.chdir(current))).toBe(1_000);

    expect(readdirSync(directory).sort()).toEqual(['file:backup.db?mode=memory', 'plants.db']);
  });

  it('refuses a damaged database, and leaves no files', async () => {
    const bytes = readFileSync(file);
    writeFileSync(file, bytes.fill(0xaa, bytes.length / 2, bytes.length / 2 + 4_096));

    await expect(backUp(file, target, signal)).rejects.toThrow(/^\S+plants\.db is damaged: [^\n]+$/);
    expect(readdirSync(directory)).toEqual(['plants.db']);
  });
});

describe('A restored database', () => {
  it.each(['', '-wal', '-shm', '-journal'])('does not replace a file new.db%s', async (suffix) => {
    await backUp(file, target, signal);
    const restored = restore(join(directory, 'new.db'), target, signal);
    writeFileSync(join(directory, `new.db${suffix}`), 'something of value');

    await expect(restored).rejects.toThrow(`new.db${suffix} already exists: it may have plants, so move it away first`);
    expect(readFileSync(join(directory, `new.db${suffix}`), 'utf8')).toBe('something of value');
    expect(readdirSync(directory).sort()).toEqual(['backup.db', `new.db${suffix}`, 'plants.db']);
  });
});
