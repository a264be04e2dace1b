import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { openRepository } from '../../src/storage/open-repository.js';
import { type Run, spawnCommand } from '../support/command.js';
import { storeFrom, violationsIn } from '../support/history.js';
import { TOKEN } from '../support/client.js';
import { ServiceDirectory, type Variables, WITH_TOKEN } from '../support/service-directory.js';
import type { ServiceProcess } from '../support/service-process.js';
import { Workload } from '../support/workload.js';

let directory: ServiceDirectory;

beforeEach(() => {
  directory = new ServiceDirectory();
});

afterEach(() => directory.remove());

function start(file: string): ServiceProcess {
  return directory.launch({ ...WITH_TOKEN, DATABASE_URL: `sqlite:${file}` });
}

/** Creates a database as a service does. */
async function create(file: string): Promise<void> {
  const repository = await openRepository(`sqlite:${directory.file(file)}`);
  await repository.close();
}

function run(parameters: readonly string[], variables?: Variables): Promise<Run> {
  return directory.run('backup', parameters, variables);
}

/** Inserts many plants, so that a copy takes a while. */
function fill(file: string, count: number): void {
  const database = directory.openDatabase(file);
  database.exec(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
     INSERT INTO plants SELECT -i, 'plant ' || i, NULL FROM n`,
  );
  database.close();
}

describe('plant-store backup', () => {
  it('copies all acknowledged plants while clients create more, and a service runs on the copy', async () => {
    const service = start('data/plants.db');
    const url = await service.listening();
    fill('data/plants.db', 200_000);
    const first = new Workload(() => url, { token: TOKEN, clients: 16, seed: 6 });
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
    const filled = copy.filter(({ id }) => id < 0n);
    expect(filled).toHaveLength(200_000);

    const restored = await start('backup.db').listening();
    const second = new Workload(() => restored, { token: TOKEN, clients: 16, seed: 7 });
    await second.operations(500);
    await second.stop();

    // Plants that were acknowledged during the backup may be in it or not.
    const history = first.history.map((operation, index) =>
      index < before || operation.outcome === 'refused' ? operation : { ...operation, outcome: 'unknown' as const },
    );
    const store = storeFrom(directory.rows('backup.db').filter(({ id }) => id >= 0n));
    expect(violationsIn([...history, ...second.history], store)).toEqual([]);
  });

  it('refuses to overwrite a file', async () => {
    await create('data/plants.db');
    writeFileSync(directory.file('backup.db'), 'something of value');

    expect(await run(['backup.db'])).toEqual({
      status: 1,
      stdout: '',
      stderr: 'plant-store: backup.db already exists: name another file\n',
    });
    expect(readFileSync(directory.file('backup.db'), 'utf8')).toBe('something of value');
  });

  it('refuses a damaged database, and leaves no file', async () => {
    await create('data/plants.db');
    fill('data/plants.db', 10_000);
    const file = directory.file('data/plants.db');
    const bytes = readFileSync(file);
    writeFileSync(file, bytes.fill(0xaa, bytes.length / 2, bytes.length / 2 + 4_096));

    const { status, stderr } = await run(['backup.db']);

    expect(stderr).toMatch(/^plant-store: data\/plants\.db is damaged: [^\n]+\n$/);
    expect(status).toBe(1);
    expect(readdirSync(directory.path)).toEqual(['data']);
  });

  it('refuses a file beside which a write-ahead log is left, which would be copied into it', async () => {
    await create('data/plants.db');
    writeFileSync(directory.file('backup.db-wal'), 'of another database');

    expect(await run(['backup.db'])).toEqual({
      status: 1,
      stdout: '',
      stderr: 'plant-store: backup.db-wal already exists: name another file\n',
    });
    expect(readdirSync(directory.path).sort()).toEqual(['backup.db-wal', 'data']);
  });

  it('leaves no file when it is interrupted', async () => {
    await create('data/plants.db');
    fill('data/plants.db', 200_000);
    const child = spawnCommand('backup', directory.path, ['backup.db']);
    const ended = once(child, 'close');
    // Wait for its first file.
    while (readdirSync(directory.path).length === 1) await new Promise(setImmediate);

    child.kill('SIGINT');

    expect(await ended).toEqual([130, null]);
    expect(readdirSync(directory.path)).toEqual(['data']);
  });

  it.each<[string, number, RegExp, readonly string[], Record<string, string>]>([
    ['names no file', 2, /missing required argument/, [], {}],
    ['names a file with an empty name', 2, /name of the file is empty/, [''], {}],
    ['names two files', 2, /too many arguments/, ['one.db', 'two.db'], {}],
    ['has a bad configuration', 2, /PORT must be/, ['backup.db'], { PORT: 'http' }],
    [
      'names a PostgreSQL database',
      2,
      /pg_dump, or pg_basebackup/,
      ['backup.db'],
      { DATABASE_URL: 'postgres://localhost/plants' },
    ],
    ['names a database in memory', 2, /memory/, ['backup.db'], { DATABASE_URL: 'sqlite::memory:' }],
    ['names a database that does not exist', 1, /there is no database data\/plants\.db/, ['backup.db'], {}],
    [
      'names no database',
      1,
      /the database file is not a SQLite database/,
      ['backup.db'],
      { DATABASE_URL: 'sqlite:file' },
    ],
    [
      'names a directory that does not exist',
      1,
      /there is no directory .*elsewhere/,
      ['elsewhere/backup.db'],
      { DATABASE_URL: 'sqlite:plants.db' },
    ],
  ])('that %s fails with status %i and one line', async (_, status, complaint, parameters, variables) => {
    writeFileSync(directory.file('file'), 'not a database. '.repeat(99));
    const service = start('plants.db');
    await service.listening();
    await service.stop();

    const failure = await run(parameters, variables);

    expect(failure).toEqual({ status, stdout: '', stderr: expect.stringMatching(complaint) as unknown });
    expect(failure.stderr).toMatch(/^[^\n]+\n$/);
    expect(readdirSync(directory.path).sort()).toEqual(['file', 'plants.db']);
  });
});
