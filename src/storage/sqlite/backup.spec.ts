import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openRepository } from '../engines.js';
import { backUp, restore } from './backup.js';

describe('A backup', () => {
  let directory: string;
  let file: string;
  let target: string;

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
    file = join(directory, 'plants.db');
    target = join(directory, 'backup.db');
    const repository = await openRepository(`sqlite:${file}`);
    await repository.add([{ id: 1n, name: 'Monstera' }]);
    await repository.close();
  });

  afterEach(() => rmSync(directory, { recursive: true }));

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

  it('goes to a file whose name looks like a URI', async () => {
    const current = process.cwd();
    process.chdir(directory);
    const backup = backUp(file, 'file:backup.db?mode=memory');
    expect(await backup.finally(() => process.chdir(current))).toBe(1);

    expect(readdirSync(directory).sort()).toEqual(['file:backup.db?mode=memory', 'plants.db']);
  });
});
