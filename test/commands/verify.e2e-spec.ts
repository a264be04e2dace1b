import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { TOKEN } from '../support/client.js';
import { HOSTILE_PLANTS } from '../support/hostile-plants.js';
import { ServiceDirectory } from '../support/service-directory.js';
import { Workload } from '../support/workload.js';

const OTHER = { DATABASE_URL: 'sqlite:other.db' };

const directory = ServiceDirectory.ofEachTest();

describe('plant-store verify', () => {
  it('prints the SHA-256 that sha256sum prints of an export', async () => {
    await directory.store(HOSTILE_PLANTS);
    const { stdout } = await directory.run('export');
    const sha256 = createHash('sha256').update(stdout).digest('hex');

    expect(await directory.run('verify', ['--json'])).toEqual({
      status: 0,
      stdout: `{"plants":${HOSTILE_PLANTS.length},"sha256":"${sha256}"}\n`,
      stderr: '',
    });
  });

  it('prints the same for a store with the same plants, and something else for any other', async () => {
    await directory.store(HOSTILE_PLANTS);
    await directory.run('import', ['-'], OTHER, (await directory.run('export')).stdout);
    const digest = await directory.run('verify');

    expect(await directory.run('verify', [], OTHER)).toEqual(digest);
    await directory.store([{ id: 100_000n, name: '' }], 'other.db');
    expect(await directory.run('verify', [], OTHER)).not.toEqual(digest);
  });
});

describe('The commands that only read DATABASE_URL', () => {
  it('change nothing in a backup, and nothing in the database of another program', async () => {
    await directory.store(HOSTILE_PLANTS);
    await directory.run('backup', ['backup.db']);
    const database = directory.openDatabase('foreign.db');
    database.exec('CREATE TABLE animals (name TEXT)');
    database.close();
    const contents = (): Buffer[] => ['backup.db', 'foreign.db'].map((name) => readFileSync(directory.file(name)));
    const before = contents();

    for (const command of ['export', 'verify', 'check']) {
      const run = await directory.run(command, [], { DATABASE_URL: 'sqlite:backup.db' });
      expect({ command, ...run }).toMatchObject({ command, status: 0 });
      const { stderr } = await directory.run(command, [], { DATABASE_URL: 'sqlite:foreign.db' });
      if (command !== 'check') expect(stderr).toMatch(/ cannot be used: no such table: plants\n$/);
      expect(contents()).toEqual(before);
    }
  });
});

describe('While 64 clients create,', () => {
  it('export has all plants that were acknowledged before, and clients notice nothing', async () => {
    const { url } = await directory.start();
    directory.fill(20_000);
    const workload = new Workload(() => url, { token: TOKEN, clients: 64, seed: 8 });
    await workload.operations(500);
    const before = workload.history.filter(({ outcome }) => outcome === 'ok').map(({ id }) => id);

    const exported = await directory.run('export');
    await workload.stop();

    expect(exported).toMatchObject({ status: 0 });
    const lines = exported.stdout.trimEnd().split('\n');
    const ids = new Set(lines.map((line) => BigInt(/^\{"id":(-?\d+),/.exec(line)?.[1] ?? '')));
    expect(ids.size).toBe(lines.length);
    expect(before.filter((id) => !ids.has(id))).toEqual([]);
    expect([...workload.errors.keys()].filter((error) => error !== 409)).toEqual([]);
  });
});
