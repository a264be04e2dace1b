import { readdirSync, readFileSync } from 'node:fs';
import { TOKEN } from '../support/client.js';
import { HOSTILE_PLANTS } from '../support/hostile-plants.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';
import { Workload } from '../support/workload.js';

const directory = ServiceDirectory.ofEachTest();

describe('plant-store copy', () => {
  it('copies to another file, adds what is missing, and reports ids that belong to other plants', async () => {
    await directory.store(HOSTILE_PLANTS);
    const count = HOSTILE_PLANTS.length;

    expect(await directory.run('copy', ['--to', 'sqlite:other.db'])).toMatchObject({
      status: 0,
      stderr: `${count} plants: ${count} copied, 0 there already; the copy is complete\n`,
    });
    await directory.store([
      { id: 100_000n, name: 'late' },
      { id: 100_001n, name: 'late' },
    ]);
    await directory.store(
      [
        { id: 100_001n, name: 'other' },
        { id: 100_002n, name: 'own' },
      ],
      'other.db',
    );
    expect(await directory.run('copy', ['--to', 'sqlite:other.db'])).toMatchObject({
      status: 3,
      stderr:
        `${count + 2} plants: 1 copied, ${count} there already; ` +
        '1 conflict: other plants have these ids, such as 100001\n',
    });
  });

  it.each([
    { what: 'without another store', parameters: [], complaint: /set --to or OTHER_DATABASE_URL/ },
    {
      what: 'to the same store',
      parameters: ['--to', 'sqlite:data/plants.db'],
      complaint: /name the same store/,
    },
    { what: 'to a URL of another kind', parameters: ['--to', 'mysql://a/b'], complaint: /OTHER_DATABASE_URL must be/ },
  ])('$what is refused', async ({ parameters, complaint }) => {
    await directory.store([]);

    expect(await directory.run('copy', parameters)).toEqual({
      status: 2,
      stdout: '',
      stderr: expect.stringMatching(complaint) as unknown,
    });
  });
});

describe('The commands that only read DATABASE_URL', () => {
  const COMMANDS: readonly (readonly [command: string, ...parameters: string[]])[] = [
    ['export', 'plants.ndjson'],
    ['verify'],
    ['verify', '--against', 'sqlite:other.db'],
    ['copy', '--to', 'sqlite:other.db'],
    ['import', '--dry-run', '--format', 'csv', '-'],
  ];

  it('change nothing in a backup', async () => {
    await directory.store(HOSTILE_PLANTS);
    await directory.store(HOSTILE_PLANTS, 'other.db');
    await directory.run('backup', ['backup.db']);
    const before = readFileSync(directory.file('backup.db'));

    for (const [command, ...parameters] of COMMANDS) {
      const run = await directory.run(command, parameters, { DATABASE_URL: 'sqlite:backup.db' });
      expect({ command, ...run }).toMatchObject({ command, status: 0 });
      expect(readFileSync(directory.file('backup.db')).equals(before)).toBe(true);
    }
    expect(await directory.run('restore', ['backup.db'], { DATABASE_URL: 'sqlite:restored.db' })).toMatchObject({
      status: 0,
    });
  });

  it('change nothing in the database of another program', async () => {
    const database = directory.openDatabase('foreign.db');
    database.exec('CREATE TABLE animals (name TEXT)');
    database.close();
    const before = readFileSync(directory.file('foreign.db'));

    for (const [command, ...parameters] of COMMANDS) {
      const { stderr } = await directory.run(command, parameters, { DATABASE_URL: 'sqlite:foreign.db' });
      if (command !== 'import') {
        expect(stderr).toBe(
          'plant-store: the database sqlite:foreign.db has no table of plants: no service has used it\n',
        );
      }
      expect(readFileSync(directory.file('foreign.db')).equals(before)).toBe(true);
      expect(readdirSync(directory.path)).toEqual(['foreign.db']);
    }
  });
});

describe('While 64 clients create,', () => {
  it('export and copy have all plants that were acknowledged before, and clients notice nothing', async () => {
    const { url, service } = await directory.start({ ...WITH_TOKEN, DATABASE_URL: 'sqlite:data/plants.db' });
    directory.fill(50_000);
    const workload = new Workload(() => url, { token: TOKEN, clients: 64, seed: 8 });
    await workload.operations(500);
    const before = workload.history.filter(({ outcome }) => outcome === 'ok').map(({ id }) => id);

    const exported = await directory.run('export', ['plants.ndjson']);
    const copied = await directory.run('copy', ['--to', 'sqlite:other.db']);
    await workload.stop();
    await service.stop();

    expect(exported).toMatchObject({ status: 0 });
    expect(copied).toMatchObject({ status: 0, stderr: expect.stringContaining('the copy is complete') as unknown });
    const lines = readFileSync(directory.file('plants.ndjson'), 'utf8').trimEnd().split('\n');
    const ids = new Set(lines.map((line) => BigInt(/^\{"id":(-?\d+),/.exec(line)?.[1] ?? '')));
    expect(ids.size).toBe(lines.length);
    expect(before.filter((id) => !ids.has(id))).toEqual([]);
    expect([...workload.errors.keys()].filter((error) => error !== 409)).toEqual([]);
    // The second copy, after the stop.
    expect(await directory.run('copy', ['--to', 'sqlite:other.db'])).toMatchObject({ status: 0 });
    expect(await directory.run('verify', ['--against', 'sqlite:other.db'])).toMatchObject({ status: 0 });
  });
});
