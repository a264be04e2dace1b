import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type Run, spawnCommand } from '../support/command.js';
import { storeFrom, violationsIn } from '../support/history.js';
import { TOKEN } from '../support/client.js';
import { ServiceDirectory, type Variables, WITH_TOKEN } from '../support/service-directory.js';
import { Workload } from '../support/workload.js';
import { until } from '../support/until.js';

/** Greater than the ids of the plants that a test inserts beside the service. */
const FIRST_ID = 10_000_000n;

const directory = ServiceDirectory.ofEachTest();

function run(parameters: readonly string[], variables?: Variables): Promise<Run> {
  return directory.run('backup', parameters, variables);
}

describe('plant-store backup', () => {
  it('copies all acknowledged plants while clients create more, and a service runs on the copy', async () => {
    const { service, url } = await directory.start();
    directory.fill(200_000);
    const first = new Workload(() => url, { token: TOKEN, clients: 16, seed: 6, firstId: FIRST_ID });
    await first.operations(500);

    const before = first.history.length;
    const backup = await run(['backup.db']);
    const after = first.history.length;
    await first.stop();
    await service.stop();

    expect(backup).toEqual({ status: 0, stdout: '', stderr: expect.any(String) as unknown });
    expect(after).toBeGreaterThan(before);
    const copy = directory.rows('backup.db');
    expect(backup.stderr).toBe(`backup.db is a backup of ${copy.length} plants\n`);
    expect(readdirSync(directory.path).sort()).toEqual(['backup.db', 'data']);
    expect(copy.filter(({ id }) => id < FIRST_ID)).toHaveLength(200_000);

    const restored = await directory.start({ ...WITH_TOKEN, DATABASE_URL: 'sqlite:backup.db' });
    const second = new Workload(() => restored.url, { token: TOKEN, clients: 16, seed: 7, firstId: FIRST_ID });
    await second.operations(500);
    await second.stop();

    // Plants that were acknowledged during the backup may be in it or not.
    const history = first.history.map((operation, index) =>
      index < before || operation.outcome === 'refused' ? operation : { ...operation, outcome: 'unknown' as const },
    );
    const store = storeFrom(directory.rows('backup.db').filter(({ id }) => id >= FIRST_ID));
    expect(violationsIn([...history, ...second.history], store)).toEqual([]);
  });

  it('refuses to overwrite a file', async () => {
    await directory.store([]);
    writeFileSync(directory.file('backup.db'), 'something of value');

    expect(await run(['backup.db'])).toEqual({
      status: 1,
      stdout: '',
      stderr: 'plant-store: backup.db already exists: name another file\n',
    });
    expect(readFileSync(directory.file('backup.db'), 'utf8')).toBe('something of value');
  });

  it('refuses a damaged database, and leaves no file', async () => {
    await directory.store([]);
    directory.fill(10_000);
    const file = directory.file('data/plants.db');
    const bytes = readFileSync(file);
    writeFileSync(file, bytes.fill(0xaa, bytes.length / 2, bytes.length / 2 + 4_096));

    const { status, stderr } = await run(['backup.db']);

    expect(stderr).toMatch(/^plant-store: the database data\/plants\.db is damaged: [^\n]+\n$/);
    expect(status).toBe(1);
    expect(readdirSync(directory.path)).toEqual(['data']);
  });

  it('leaves no file when it is interrupted', async () => {
    await directory.store([]);
    directory.fill(200_000);
    const child = spawnCommand('backup', directory.path, ['backup.db']);
    const ended = once(child, 'close');
    await until('it has a file', () => readdirSync(directory.path).length > 1);

    child.kill('SIGINT');

    expect(await ended).toEqual([130, null]);
    expect(readdirSync(directory.path)).toEqual(['data']);
  });

  it.each<{ what: string; status: number; complaint: RegExp; file?: string; url?: string }>([
    { what: 'names a file with an empty name', status: 2, complaint: /name of the file is empty/, file: '' },
    { what: 'names a PostgreSQL database', status: 2, complaint: /pg_dump/, url: 'postgres://localhost/plants' },
    { what: 'names a database in memory', status: 2, complaint: /memory/, url: 'sqlite::memory:' },
    { what: 'names no database', status: 1, complaint: /there is no database none\.db/, url: 'sqlite:none.db' },
    { what: 'names no directory', status: 1, complaint: /there is no directory .*elsewhere/, file: 'elsewhere/b.db' },
  ])(
    'that $what fails with status $status and one line',
    async ({ status, complaint, file = 'backup.db', url = '' }) => {
      await directory.store([]);

      const failure = await run([file], { DATABASE_URL: url });

      expect(failure).toEqual({ status, stdout: '', stderr: expect.stringMatching(complaint) as unknown });
      expect(failure.stderr).toMatch(/^[^\n]+\n$/);
      expect(readdirSync(directory.path)).toEqual(['data']);
    },
  );
});
