import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StoredPlant } from '../../src/storage/plant-repository.js';
import { spawnCommand } from '../support/command.js';
import { HOSTILE_PLANTS } from '../support/hostile-plants.js';
import { ServiceDirectory, type Variables } from '../support/service-directory.js';
import type { Row } from '../support/store.js';
import { until } from '../support/until.js';

const FIXTURES = join(import.meta.dirname, 'fixtures');
const OTHER: Variables = { DATABASE_URL: 'sqlite:other.db' };

const directory = ServiceDirectory.ofEachTest();

function rowsOf(plants: readonly StoredPlant[]): Row[] {
  return plants.map(({ id, name, tag }) => ({ id, name, tag: tag ?? null }));
}

describe('plant-store import', () => {
  it('rejects rows with their lines and reasons, and adds the others', async () => {
    await directory.store([{ id: 1n, name: 'Monstera' }]);
    const input = [
      '{"id":1,"name":"Monstera"}',
      '{"id":1,"name":"Ficus"}',
      '{"id":2,"name":"Aloe","colour":"green"}',
      '{"id":"3","name":"Aloe"}',
      'nonsense',
      `{"id":4,"name":"${'long'.repeat(300)}"}`,
      '{"id":2,"name":"Aloe"}',
    ].join('\n');

    const { status, stdout, stderr } = await directory.run(
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
    expect(readFileSync(directory.file('rejects.txt'), 'utf8').split('\n')).toEqual([
      'line 2: The id 1 belongs to another plant.',
      'line 4: id must be an integer from -9223372036854775808 to 9223372036854775807: send it without quotation marks.',
      'line 5: The body is not JSON: send an object such as {"id":1,"name":"Monstera"}.',
      'line 6: The row is too long: at most 1056 bytes are accepted; raise BODY_LIMIT.',
      '',
    ]);
    expect(directory.names()).toEqual(['Monstera', 'Aloe']);
  });

  it('takes a row that is longer than the body that created its plant, by the digits of the id', async () => {
    const row = `{"id":1000000000000000000,"name":"${'n'.repeat(1_000)}"}`;

    expect(
      await directory.run('import', [], { BODY_LIMIT: `${row.replace(/10+/, '1e18').length}b` }, row),
    ).toMatchObject({
      status: 0,
    });
  });

  it('ends at a row of CSV with wrong quotation marks, names its line, and can go on when they are right', async () => {
    const before = 'id,name\r\n1,"two\r\nlines"\r\n';

    expect(await directory.run('import', ['--format', 'csv'], {}, `${before}2,5" pot\r\n`)).toEqual({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^1 created, [^\n]+\nplant-store: line 4: its quotation marks are wrong[^\n]+\n$/,
      ) as unknown,
    });
    expect(await directory.run('import', ['--format', 'csv'], {}, `${before}2,"5"" pot"\r\n`)).toMatchObject({
      status: 0,
      stderr: '1 created, 1 repeated, 0 conflicts, 0 rejected\n',
    });
    expect(directory.names()).toEqual(['two\r\nlines', '5" pot']);
  });

  it('writes no rejected rows to a file that has something, such as the database', async () => {
    const file = 'data/plants.db';
    await directory.store([{ id: 1n, name: 'Monstera' }]);
    directory.write('plants.ndjson', '{"id":1,"name":"Ficus"}\n');
    const before = readFileSync(directory.file(file));

    expect(await directory.run('import', ['plants.ndjson', '--rejects', file])).toEqual({
      status: 1,
      stdout: '',
      stderr: `plant-store: ${file} already exists: name another file for the rejected rows\n`,
    });
    expect(readFileSync(directory.file(file)).equals(before)).toBe(true);
  });

  it.each([
    ['.', /^plant-store: \. is a directory: name a file\n$/],
    ['missing.ndjson', /^plant-store: ENOENT[^\n]+\n$/],
  ])('refuses the file %s, and creates no store', async (file, complaint) => {
    expect(await directory.run('import', [file])).toEqual({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(complaint) as unknown,
    });
    expect(readdirSync(directory.path)).toEqual([]);
  });

  it('says in a dry run what would happen, and changes nothing', async () => {
    const input = '{"id":1,"name":"a"}\n{"id":1,"name":"b"}\n{"id":2,"name":"c"}\n{"id":2,"name":"c"}\n{"id":0}\n';
    expect(await directory.run('import', ['--dry-run'], {}, input)).toMatchObject({
      status: 3,
      stderr: expect.stringMatching(/dry run: 2 created, 1 repeated, 1 conflict, 1 rejected\n$/) as unknown,
    });
    expect(readdirSync(directory.path)).toEqual([]);

    await directory.store([{ id: 2n, name: 'other' }]);
    expect(await directory.run('import', ['--dry-run'], {}, input)).toMatchObject({
      status: 3,
      stderr: expect.stringMatching(/dry run: 1 created, 0 repeated, 3 conflicts, 1 rejected\n$/) as unknown,
    });
    expect(directory.names()).toEqual(['other']);
  });

  // jq before 1.7 rounds numbers to 53 bits.
  const ROUNDED = HOSTILE_PLANTS.filter(({ id }) => BigInt(Number(id)) === id && id ** 2n < 2n ** 106n);

  it.each([
    { program: 'sqlite3 -csv -header', file: 'sqlite3.csv', format: 'csv', plants: HOSTILE_PLANTS },
    { program: 'psql \\copy … csv header', file: 'psql.csv', format: 'csv', plants: HOSTILE_PLANTS },
    { program: 'jq -c', file: 'jq.ndjson', format: 'ndjson', plants: ROUNDED },
  ])('reads what $program writes', async ({ file, format, plants }) => {
    const { status, stderr } = await directory.run('import', [join(FIXTURES, file), '--format', format]);

    expect({ status, stderr }).toEqual({
      status: 0,
      stderr: `${plants.length} created, 0 repeated, 0 conflicts, 0 rejected\n`,
    });
    expect(directory.rows()).toEqual(rowsOf(plants));
  });

  it('goes on after it was interrupted or killed', async () => {
    await directory.store([]);
    directory.fill(100_000);
    await directory.run('export', ['plants.ndjson']);
    for (const signal of ['SIGINT', 'SIGKILL'] as const) {
      const child = spawnCommand('import', directory.path, ['plants.ndjson'], OTHER);
      const ended = once(child, 'close');
      await until('it has a store', () => existsSync(directory.file('other.db-wal')));
      child.kill(signal);
      expect(await ended).toEqual(signal === 'SIGINT' ? [130, null] : [null, 'SIGKILL']);
    }

    expect(await directory.run('import', ['plants.ndjson'], OTHER)).toMatchObject({ status: 0 });
    expect(await directory.run('verify', ['--against', 'sqlite:other.db'])).toMatchObject({ status: 0 });
  });
});

describe.each(['ndjson', 'csv'])('An export as %s', (format) => {
  const file = `plants.${format}`;

  it('is imported as the same plants', async () => {
    await directory.store(HOSTILE_PLANTS);
    await directory.run('export', [file, '--format', format]);
    const count = HOSTILE_PLANTS.length;

    expect(await directory.run('import', [file, '--format', format], OTHER)).toEqual({
      status: 0,
      stdout: '',
      stderr: `${count} created, 0 repeated, 0 conflicts, 0 rejected\n`,
    });
    expect(directory.rows('other.db')).toEqual(rowsOf(HOSTILE_PLANTS));
    expect(await directory.run('verify', ['--against', 'sqlite:other.db'])).toEqual({
      status: 0,
      stdout: '',
      stderr: `${count} plants in both stores\n`,
    });
    expect(
      await directory.run('import', ['--format', format], OTHER, readFileSync(directory.file(file), 'utf8')),
    ).toMatchObject({
      status: 0,
      stderr: `0 created, ${count} repeated, 0 conflicts, 0 rejected\n`,
    });
  });
});
