import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { TOKEN } from '../support/client.js';
import { HOSTILE_PLANTS } from '../support/hostile-plants.js';
import { ServiceDirectory } from '../support/service-directory.js';
import { Workload } from '../support/workload.js';

const TO_OTHER = ['--to', 'sqlite:other.db'];

const directory = ServiceDirectory.ofEachTest();

describe('plant-store copy', () => {
  it('copies to another file, adds what is missing, and reports ids that belong to other plants', async () => {
    await directory.store(HOSTILE_PLANTS);
    const count = HOSTILE_PLANTS.length;

    expect(await directory.run('copy', TO_OTHER)).toMatchObject({
      status: 0,
      stderr: `${count} plants: ${count} copied, 0 there already; the copy is complete\n`,
    });
    await directory.store([100_000n, 100_001n].map((id) => ({ id, name: 'late' })));
    await directory.store(
      [100_001n, 100_002n].map((id) => ({ id, name: 'other' })),
      'other.db',
    );
    expect(await directory.run('copy', TO_OTHER)).toMatchObject({
      status: 3,
      stderr:
        `${count + 2} plants: 1 copied, ${count} there already; ` +
        '1 conflict: other plants have these ids, such as 100001\n',
    });
  });
});

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

  it('names the first ids that differ', async () => {
    await directory.store([1n, 2n, 3n, 2n ** 63n - 1n].map((id) => ({ id, name: 'a' })));
    await directory.store([{ id: 2n, name: 'a', tag: '' }, ...[3n, 4n].map((id) => ({ id, name: 'a' }))], 'other.db');

    expect(await directory.run('verify', [], { OTHER_DATABASE_URL: 'sqlite:other.db' })).toEqual({
      status: 3,
      stdout: '',
      stderr:
        'the stores differ: 4 and 3 plants, 2 missing, 1 additional, 1 different; the first ids: ' +
        '1 (missing), 2 (different), 4 (additional), 9223372036854775807 (missing)\n',
    });
  });
});

describe('The commands that only read DATABASE_URL', () => {
  const COMMANDS: readonly (readonly [command: string, ...parameters: string[]])[] = [
    ['export'],
    ['verify'],
    ['check'],
    ['verify', '--against', 'sqlite:other.db'],
    ['copy', ...TO_OTHER],
    ['import', '--dry-run', '--format', 'csv', '-'],
  ];

  it('change nothing in a backup, and nothing in the database of another program', async () => {
    await directory.store(HOSTILE_PLANTS);
    await directory.store(HOSTILE_PLANTS, 'other.db');
    await directory.run('backup', ['backup.db']);
    const database = directory.openDatabase('foreign.db');
    database.exec('CREATE TABLE animals (name TEXT)');
    database.close();
    const contents = (): Buffer[] => ['backup.db', 'foreign.db'].map((name) => readFileSync(directory.file(name)));
    const before = contents();

    for (const [command, ...parameters] of COMMANDS) {
      const run = await directory.run(command, parameters, { DATABASE_URL: 'sqlite:backup.db' });
      expect({ command, ...run }).toMatchObject({ command, status: 0 });
      const { stderr } = await directory.run(command, parameters, { DATABASE_URL: 'sqlite:foreign.db' });
      if (!['check', 'import'].includes(command))
        expect(stderr).toMatch(/ has no table of plants: no service has used it\n$/);
      expect(contents()).toEqual(before);
    }
  });
});

describe('While 64 clients create,', () => {
  it('export and copy have all plants that were acknowledged before, and clients notice nothing', async () => {
    const { url, service } = await directory.start();
    directory.fill(50_000);
    const workload = new Workload(() => url, { token: TOKEN, clients: 64, seed: 8 });
    await workload.operations(500);
    const before = workload.history.filter(({ outcome }) => outcome === 'ok').map(({ id }) => id);

    const exported = await directory.run('export');
    const copied = await directory.run('copy', TO_OTHER);
    await workload.stop();
    await service.stop();

    expect(exported).toMatchObject({ status: 0 });
    expect(copied).toMatchObject({ status: 0, stderr: expect.stringContaining('the copy is complete') as unknown });
    const lines = exported.stdout.trimEnd().split('\n');
    const ids = new Set(lines.map((line) => BigInt(/^\{"id":(-?\d+),/.exec(line)?.[1] ?? '')));
    expect(ids.size).toBe(lines.length);
    expect(before.filter((id) => !ids.has(id))).toEqual([]);
    expect([...workload.errors.keys()].filter((error) => error !== 409)).toEqual([]);
    // The second copy, after the stop.
    expect(await directory.run('copy', TO_OTHER)).toMatchObject({ status: 0 });
    expect(await directory.run('verify', ['--against', 'sqlite:other.db'])).toMatchObject({ status: 0 });
  });
});
