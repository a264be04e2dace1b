import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { backUp, restore } from './backup.js';
import { openRepository } from '../engines.js';
import { withDatabase } from './database.js';

let directory: string;
let file: string;
let target: string;

/** Creates a database with 1,000 plants. */
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
  file = join(directory, 'plants.db');
  target = join(directory, 'backup.db');
  const repository = await openRepository(`sqlite:${file}`);
  await repository.add(Array.from({ length: 1_000 }, (_, id) => ({ id: BigInt(id), name: `plant ${id}` })));
  await repository.close();
});

afterEach(() => rmSync(directory, { recursive: true }));

describe('A backup', () => {
  it.each(['', '-wal', '-shm', '-journal'])(
    'does not touch a file backup.db%s, whose log SQLite would apply',
    async (suffix) => {
      writeFileSync(target + suffix, 'something of value');

      await expect(backUp(file, target)).rejects.toThrow(`${target}${suffix} already exists: name another file`);
      expect(readFileSync(target + suffix, 'utf8')).toBe('something of value');
      expect(readdirSync(directory).sort()).toEqual([`backup.db${suffix}`, 'plants.db']);
    },
  );

  it('can be read by its owner alone, and so can the database that is restored from it', async () => {
    await backUp(file, target);
    const restored = join(directory, 'restored.db');
    await restore(restored, target);

    for (const made of [target, restored]) expect(statSync(made).mode & 0o777).toBe(0o600);
  });

  it('is not made of a database with a newer schema, nor restored', async () => {
    await backUp(file, target);
    for (const made of [file, target]) {
      await withDatabase(made, (database) => database.exec('PRAGMA user_version = 9999'));
    }
    const before = readdirSync(directory);
    const newer = 'it has a schema that is newer than this version';

    await expect(backUp(file, join(directory, 'another.db'))).rejects.toThrow(newer);
    await expect(restore(join(directory, 'restored.db'), target)).rejects.toThrow(newer);
    expect(readdirSync(directory)).toEqual(before);
  });

  it('goes to a file whose name looks like a URI', async () => {
    const current = process.cwd();
    process.chdir(directory);
    const backup = backUp(file, 'file:backup.db?mode=memory');
    expect(await backup.finally(() => process.chdir(current))).toBe(1_000);

    expect(readdirSync(directory).sort()).toEqual(['file:backup.db?mode=memory', 'plants.db']);
  });
});

describe('A restore', () => {
  it('refuses a table that a start would refuse, and leaves nothing behind', async () => {
    await backUp(file, target);
    await withDatabase(target, (database) => {
      // The same columns without a primary key.
      database.exec('CREATE TABLE copy AS SELECT * FROM plants; DROP TABLE plants; ALTER TABLE copy RENAME TO plants');
    });
    const before = readdirSync(directory);

    await expect(restore(join(directory, 'new/data/plants.db'), target)).rejects.toThrow(
      /^the database [^\n]+backup\.db cannot be used: ON CONFLICT clause does not match any PRIMARY KEY/,
    );
    expect(readdirSync(directory)).toEqual(before);
  });
});
