import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openRepository } from '../../src/storage/open-repository.js';
import type { StoredPlant } from '../../src/storage/plant-repository.js';
import { TOKEN } from '../support/client.js';
import { type Run, runCommand, spawnCommand } from '../support/command.js';
import { HOSTILE_PLANTS } from '../support/hostile-plants.js';
import { ServiceDirectory, type Variables, WITH_TOKEN } from '../support/service-directory.js';
import type { Row } from '../support/store.js';
import { Workload } from '../support/workload.js';

const FORMATS = ['ndjson', 'csv'] as const;
const FIXTURES = join(import.meta.dirname, 'fixtures');

let directory: ServiceDirectory;

beforeEach(() => {
  directory = new ServiceDirectory();
});

afterEach(() => directory.remove());

/** Stores plants as a service does. */
async function store(plants: readonly StoredPlant[], file = 'data/plants.db'): Promise<void> {
  const repository = await openRepository(`sqlite:${directory.file(file)}`);
  await repository.add(plants);
  await repository.close();
}

/** Inserts many plants: a third without a tag, a third with special characters. */
function fill(count: number, file = 'data/plants.db'): void {
  const database = directory.openDatabase(file);
  database.exec(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
     INSERT INTO plants SELECT 7 * i, 'plant ' || i, CASE i % 3 WHEN 0 THEN 'a, "b"' WHEN 1 THEN 'indoor' END FROM n`,
  );
  database.close();
}

function run(command: string, parameters: readonly string[] = [], variables?: Variables, input = ''): Promise<Run> {
  return runCommand(command, directory.path, parameters, variables, input);
}

function rowsOf(plants: readonly StoredPlant[]): Row[] {
  return plants.map(({ id, name, tag }) => ({ id, name, tag: tag ?? null }));
}

function sha256(text: string | Buffer): string {
  return createHash('sha256').update(text).digest('hex');
}

const OTHER: Variables = { DATABASE_URL: 'sqlite:other.db' };

describe('plant-store export', () => {
  it('writes each plant as a NewPlant, in the order of the ids', async () => {
    await store([
      { id: 9007199254740993n, name: 'Monstera', tag: 'a "b"\n' },
      { id: -1n, name: '', tag: '' },
      { id: 7n, name: 'Ficus' },
    ]);

    expect(await run('export')).toEqual({
      status: 0,
      stdout:
        '{"id":-1,"name":"","tag":""}\n{"id":7,"name":"Ficus"}\n' +
        '{"id":9007199254740993,"name":"Monstera","tag":"a \\"b\\"\\n"}\n',
      stderr: '3 plants exported\n',
    });
    expect(await run('export', ['-', '--format', 'csv', '--after', '-1'])).toEqual({
      status: 0,
      stdout: 'id,name,tag\r\n7,Ficus,\r\n9007199254740993,Monstera,"a ""b""\n"\r\n',
      stderr: '2 plants exported\n',
    });
  });

  it('creates a file that only its owner can read, and overwrites none', async () => {
    await store([{ id: 1n, name: 'Monstera' }]);

    expect(await run('export', ['plants.ndjson', '--json'])).toEqual({
      status: 0,
      stdout: '{"file":"plants.ndjson","plants":1}\n',
      stderr: '',
    });
    expect(await run('export', ['plants.ndjson'])).toEqual({
      status: 1,
      stdout: '',
      stderr: 'plant-store: plants.ndjson already exists: name another file\n',
    });
    expect(readFileSync(directory.file('plants.ndjson'), 'utf8')).toBe('{"id":1,"name":"Monstera"}\n');
    expect(readdirSync(directory.path).sort()).toEqual(['data', 'plants.ndjson']);
  });

  it('ends quietly when its reader has read enough', async () => {
    await store([]);
    fill(100_000);
    const child = spawnCommand('export', directory.path, []);
    let stderr = '';
    child.stderr.on('data', (text: Buffer) => (stderr += text.toString()));
    await once(child.stdout, 'data');
    child.stdout.destroy();

    expect(await once(child, 'close')).toEqual([0, null]);
    expect(stderr).toBe('');
  });

  it('leaves no file when it is interrupted', async () => {
    await store([]);
    fill(200_000);
    const child = spawnCommand('export', directory.path, ['plants.ndjson']);
    const ended = once(child, 'close');
    while (readdirSync(directory.path).length === 1) await new Promise(setImmediate);

    child.kill('SIGINT');

    expect(await ended).toEqual([130, null]);
    expect(readdirSync(directory.path)).toEqual(['data']);
  });

  it('leaves nothing under the name of the file when it is killed, and can run again', async () => {
    await store([]);
    fill(200_000);
    const child = spawnCommand('export', directory.path, ['plants.ndjson']);
    const ended = once(child, 'close');
    while (readdirSync(directory.path).length === 1) await new Promise(setImmediate);
    child.kill('SIGKILL');
    await ended;

    expect(existsSync(directory.file('plants.ndjson'))).toBe(false);
    expect(await run('export', ['plants.ndjson'])).toMatchObject({
      status: 0,
      stderr: 'plants.ndjson has 200000 plants\n',
    });
  });

  it.each<[string, number, RegExp, readonly string[], Variables]>([
    ['names no database', 1, /there is no database data\/plants\.db: DATABASE_URL must name one that exists/, [], {}],
    ['names a database in memory', 2, /in memory/, [], { DATABASE_URL: 'sqlite::memory:' }],
    ['names a file with an empty name', 2, /name of the file is empty/, [''], {}],
    ['has a bad id', 2, /--after.*int64/, ['--after', '9223372036854775808'], {}],
    ['has a bad format', 2, /--format/, ['--format', 'xml'], {}],
  ])('that %s fails with status %i and one line', async (_, status, complaint, parameters, variables) => {
    const failure = await run('export', parameters, variables);

    expect(failure).toEqual({ status, stdout: '', stderr: expect.stringMatching(complaint) as unknown });
    expect(failure.stderr).toMatch(/^[^\n]+\n$/);
    expect(readdirSync(directory.path)).toEqual([]);
  });
});

describe.each(FORMATS)('An export as %s', (format) => {
  const file = `plants.${format}`;

  it('is imported as the same plants', async () => {
    await store(HOSTILE_PLANTS);
    await run('export', [file, '--format', format]);
    const count = HOSTILE_PLANTS.length;

    expect(await run('import', [file, '--format', format], OTHER)).toEqual({
      status: 0,
      stdout: '',
      stderr: `${count} created, 0 repeated, 0 conflicts, 0 rejected\n`,
    });
    expect(directory.rows('other.db')).toEqual(rowsOf(HOSTILE_PLANTS));
    const { stderr } = await run('verify', ['--against', 'sqlite:other.db']);
    expect(stderr).toMatch(new RegExp(`^${count} plants in both stores, SHA-256 [0-9a-f]{64}\n$`));
    expect(await run('import', ['--format', format], OTHER, readFileSync(directory.file(file), 'utf8'))).toMatchObject({
      status: 0,
      stderr: `0 created, ${count} repeated, 0 conflicts, 0 rejected\n`,
    });
  });

  it('goes on after an import was interrupted or killed', async () => {
    await store([]);
    fill(100_000);
    await run('export', [file, '--format', format]);
    for (const signal of ['SIGINT', 'SIGKILL'] as const) {
      const child = spawnCommand('import', directory.path, [file, '--format', format], OTHER);
      const ended = once(child, 'close');
      while (!existsSync(directory.file('other.db-wal'))) await new Promise(setImmediate);
      child.kill(signal);
      expect(await ended).toEqual(signal === 'SIGINT' ? [130, null] : [null, 'SIGKILL']);
    }

    expect(await run('import', [file, '--format', format], OTHER)).toMatchObject({ status: 0 });
    expect(await run('verify', ['--against', 'sqlite:other.db'])).toMatchObject({ status: 0 });
  });
});

describe('plant-store import', () => {
  it('rejects rows with their lines and reasons, and adds the others', async () => {
    await store([{ id: 1n, name: 'Monstera' }]);
    const input = [
      '{"id":1,"name":"Monstera"}',
      '{"id":1,"name":"Ficus"}',
      '{"id":2,"name":"Aloe","colour":"green"}',
      '{"id":"3","name":"Aloe"}',
      'nonsense',
      `{"id":4,"name":"${'long'.repeat(300)}"}`,
      '{"id":2,"name":"Aloe"}',
    ].join('\n');

    const { status, stdout, stderr } = await run(
      'import',
      ['--rejects', 'rejects.txt', '--json'],
      { BODY_LIMIT: '1kb' },
      input,
    );

    expect({ status, stdout, stderr }).toEqual({
      status: 3,
      stdout: '{"created":1,"repeated":2,"conflict":1,"rejected":3}\n',
      stderr: '',
    });
    expect(readFileSync(directory.file('rejects.txt'), 'utf8').split('\n').sort()).toEqual([
      '',
      'line 2: The id 1 belongs to another plant.',
      'line 4: id must be an integer from -9223372036854775808 to 9223372036854775807.',
      'line 5: The body is not JSON: send an object such as {"id":1,"name":"Monstera"}.',
      'line 6: The row is too long: at most 1024 bytes are accepted; raise BODY_LIMIT.',
    ]);
    expect(directory.names()).toEqual(['Monstera', 'Aloe']);
  });

  it.each(['plants.ndjson', 'data/plants.db'])('writes no rejected rows to %s, which has something', async (file) => {
    await store([{ id: 1n, name: 'Monstera' }]);
    directory.write('plants.ndjson', '{"id":1,"name":"Ficus"}\n');
    const before = readFileSync(directory.file(file));

    expect(await run('import', ['plants.ndjson', '--rejects', file])).toEqual({
      status: 1,
      stdout: '',
      stderr: `plant-store: ${file} already exists: name another file for the rejected rows\n`,
    });
    expect(readFileSync(directory.file(file)).equals(before)).toBe(true);
  });

  it('refuses a directory, and creates no store', async () => {
    expect(await run('import', ['.'])).toEqual({
      status: 1,
      stdout: '',
      stderr: 'plant-store: . is a directory: name a file\n',
    });
    expect(readdirSync(directory.path)).toEqual([]);
  });

  it('says in a dry run what would happen, and changes nothing', async () => {
    const input = '{"id":1,"name":"a"}\n{"id":1,"name":"b"}\n{"id":2,"name":"c"}\n{"id":2,"name":"c"}\n{"id":0}\n';
    expect(await run('import', ['--dry-run'], {}, input)).toMatchObject({
      status: 3,
      stderr: expect.stringMatching(/dry run: 2 created, 1 repeated, 1 conflicts, 1 rejected\n$/) as unknown,
    });
    expect(readdirSync(directory.path)).toEqual([]);

    await store([{ id: 2n, name: 'other' }]);
    expect(await run('import', ['--dry-run'], {}, input)).toMatchObject({
      status: 3,
      stderr: expect.stringMatching(/dry run: 1 created, 0 repeated, 3 conflicts, 1 rejected\n$/) as unknown,
    });
    expect(directory.names()).toEqual(['other']);
  });

  it.each([
    ['sqlite3.csv', 'csv', 'sqlite3 -csv -header', HOSTILE_PLANTS],
    ['psql.csv', 'csv', 'psql \\copy … csv header', HOSTILE_PLANTS],
    // jq before 1.7 rounds numbers to 53 bits.
    [
      'jq.ndjson',
      'ndjson',
      'jq -c',
      HOSTILE_PLANTS.filter(({ id }) => BigInt(Number(id)) === id && id ** 2n < 2n ** 106n),
    ],
  ])('reads %s, in %s as %s writes it', async (file, format, _, plants) => {
    const { status, stderr } = await run('import', [join(FIXTURES, file), '--format', format]);

    expect({ status, stderr }).toEqual({
      status: 0,
      stderr: `${plants.length} created, 0 repeated, 0 conflicts, 0 rejected\n`,
    });
    expect(directory.rows()).toEqual(rowsOf(plants));
  });

  it.each([
    ['a row', '1,Monstera,\n'],
    ['NDJSON', '{"id":1,"name":"Monstera"}\n'],
    ['a quotation mark that is not closed', '"id,name,tag\n1,Monstera,\n'],
    ['a line that is too long', `${'id'.repeat(1_000)},name\nid,name\n1,Monstera\n`],
  ])('refuses CSV that begins with %s', async (_, input) => {
    expect(await run('import', ['--format', 'csv'], { BODY_LIMIT: '1kb' }, input)).toEqual({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^plant-store: The first line must name the columns id, name and tag[^\n]+\n$/,
      ) as unknown,
    });
    expect(directory.names()).toEqual([]);
  });

  it('refuses a file that does not exist', async () => {
    expect(await run('import', ['missing.ndjson'])).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/^plant-store: ENOENT[^\n]+\n$/) as unknown,
    });
    expect(readdirSync(directory.path)).toEqual([]);
  });
});

describe('plant-store verify', () => {
  it('prints the SHA-256 that sha256sum prints of an export', async () => {
    await store(HOSTILE_PLANTS);
    const { stdout } = await run('export');

    expect(await run('verify', ['--json'])).toEqual({
      status: 0,
      stdout: `{"plants":${HOSTILE_PLANTS.length},"sha256":"${sha256(stdout)}"}\n`,
      stderr: '',
    });
  });

  it('ends when it is interrupted', async () => {
    await store([]);
    fill(200_000);
    const child = spawnCommand('verify', directory.path, []);
    const ended = once(child, 'close');
    while (!existsSync(directory.file('data/plants.db-shm'))) await new Promise(setImmediate);

    child.kill('SIGINT');

    expect(await ended).toEqual([130, null]);
  });

  it('names the first ids that differ', async () => {
    await store([1n, 2n, 3n, 2n ** 63n - 1n].map((id) => ({ id, name: 'a' })));
    await store([{ id: 2n, name: 'a', tag: '' }, ...[3n, 4n].map((id) => ({ id, name: 'a' }))], 'other.db');

    expect(await run('verify', [], { OTHER_DATABASE_URL: 'sqlite:other.db' })).toEqual({
      status: 3,
      stdout: '',
      stderr:
        'the stores differ: 4 and 3 plants, 2 missing, 1 additional, 1 different; the first ids: ' +
        '1 (missing), 2 (different), 4 (additional), 9223372036854775807 (missing)\n',
    });
  });
});

describe('plant-store copy', () => {
  it('copies to another file, adds what is missing, and reports ids that belong to other plants', async () => {
    await store(HOSTILE_PLANTS);
    const count = HOSTILE_PLANTS.length;

    expect(await run('copy', ['--to', 'sqlite:other.db'])).toMatchObject({
      status: 0,
      stderr: `${count} plants: ${count} copied, 0 there already; the copy is complete\n`,
    });
    await store([
      { id: 100_000n, name: 'late' },
      { id: 100_001n, name: 'late' },
    ]);
    await store(
      [
        { id: 100_001n, name: 'other' },
        { id: 100_002n, name: 'own' },
      ],
      'other.db',
    );
    expect(await run('copy', ['--to', 'sqlite:other.db'])).toMatchObject({
      status: 3,
      stderr:
        `${count + 2} plants: 1 copied, ${count} there already; the stores differ: ` +
        '0 missing, 1 additional, 1 different; the first ids: 100001 (different), 100002 (additional)\n',
    });
  });

  it.each<[string, readonly string[], RegExp]>([
    ['without another store', [], /set --to or OTHER_DATABASE_URL/],
    ['to the same store', ['--to', 'sqlite:./data/../data/plants.db'], /name the same store/],
    ['to a URL of another kind', ['--to', 'mysql://localhost/plants'], /--to must be a URL/],
  ])('%s is refused', async (_, parameters, complaint) => {
    await store([]);

    expect(await run('copy', parameters)).toEqual({
      status: 2,
      stdout: '',
      stderr: expect.stringMatching(complaint) as unknown,
    });
  });
});

describe.each<[command: string, parameters: readonly string[]]>([
  ['export', ['plants.ndjson']],
  ['verify', []],
  ['verify', ['--against', 'sqlite:other.db']],
  ['copy', ['--to', 'sqlite:other.db']],
  ['import', ['--dry-run', '--format', 'csv', '-']],
])('plant-store %s %j', (command, parameters) => {
  it('changes nothing in a backup', async () => {
    await store(HOSTILE_PLANTS);
    await store(HOSTILE_PLANTS, 'other.db');
    await run('backup', ['backup.db']);
    const before = readFileSync(directory.file('backup.db'));

    expect(await run(command, parameters, { DATABASE_URL: 'sqlite:backup.db' })).toMatchObject({ status: 0 });
    expect(readFileSync(directory.file('backup.db')).equals(before)).toBe(true);
    expect(await run('restore', ['backup.db'], { DATABASE_URL: 'sqlite:restored.db' })).toMatchObject({ status: 0 });
  });

  it('changes nothing in the database of another program', async () => {
    const database = directory.openDatabase('foreign.db');
    database.exec('CREATE TABLE animals (name TEXT)');
    database.close();
    const before = readFileSync(directory.file('foreign.db'));

    const { stderr } = await run(command, parameters, { DATABASE_URL: 'sqlite:foreign.db' });

    if (command !== 'import') {
      expect(stderr).toBe('plant-store: the database of DATABASE_URL has no table of plants: no service has used it\n');
    }
    expect(readFileSync(directory.file('foreign.db')).equals(before)).toBe(true);
    expect(readdirSync(directory.path)).toEqual(['foreign.db']);
  });
});

describe('While 64 clients create,', () => {
  it('export and copy have all plants that were acknowledged before, and clients notice nothing', async () => {
    const { url, service } = await directory.start({ ...WITH_TOKEN, DATABASE_URL: 'sqlite:data/plants.db' });
    fill(50_000);
    const workload = new Workload(() => url, { token: TOKEN, clients: 64, seed: 8 });
    await workload.operations(500);
    const before = workload.history.filter(({ outcome }) => outcome === 'ok').map(({ id }) => id);

    const exported = await run('export', ['plants.ndjson']);
    const copied = await run('copy', ['--to', 'sqlite:other.db']);
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
    expect(await run('copy', ['--to', 'sqlite:other.db'])).toMatchObject({ status: 0 });
    expect(await run('verify', ['--against', 'sqlite:other.db'])).toMatchObject({ status: 0 });
  });
});
