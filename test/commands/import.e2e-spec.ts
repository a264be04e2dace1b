import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StoredPlant } from '../../src/storage/plant-repository.js';
import { HOSTILE_PLANTS } from '../support/hostile-plants.js';
import { ServiceDirectory } from '../support/service-directory.js';
import type { Row } from '../support/store.js';

const FIXTURES = join(import.meta.dirname, 'fixtures');

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

    const parameters = ['--rejects', 'rejects.txt', '--json'];
    expect(await directory.run('import', parameters, { BODY_LIMIT: '1kb' }, input)).toEqual({
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
    const body = row.replace(/10+/, '1e18');

    expect(await directory.run('import', [], { BODY_LIMIT: `${body.length}b` }, row)).toMatchObject({ status: 0 });
  });

  it('ends at a row of CSV with wrong quotation marks, names its line, and can go on when they are right', async () => {
    const before = 'id,name\r\n1,"two\r\nlines"\r\n';
    const run = (last: string): Promise<unknown> => directory.run('import', ['--format', 'csv'], {}, before + last);

    expect(await run('2,5" pot\r\n')).toEqual({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^1 created, .+\nplant-store: line 4: its quotation marks are wrong.+\n$/,
      ) as unknown,
    });
    expect(await run('2,"5"" pot"\r\n')).toMatchObject({
      status: 0,
      stderr: '1 created, 1 repeated, 0 conflicts, 0 rejected\n',
    });
    expect(directory.names()).toEqual(['two\r\nlines', '5" pot']);
  });

  it('says in a dry run what would happen, and changes nothing', async () => {
    const input = '{"id":1,"name":"a"}\n{"id":1,"name":"b"}\n{"id":2,"name":"c"}\n{"id":2,"name":"c"}\n{"id":0}\n';
    const dryRun = async (): Promise<string> => {
      const { status, stderr } = await directory.run('import', ['--dry-run'], {}, input);
      expect(status).toBe(3);
      return stderr;
    };

    expect(await dryRun()).toMatch(/dry run: 2 created, 1 repeated, 1 conflict, 1 rejected\n$/);
    expect(readdirSync(directory.path)).toEqual([]);

    await directory.store([{ id: 2n, name: 'other' }]);
    expect(await dryRun()).toMatch(/dry run: 1 created, 0 repeated, 3 conflicts, 1 rejected\n$/);
    expect(directory.names()).toEqual(['other']);
  });

  // jq before 1.7 rounds numbers to 53 bits.
  const ROUNDED = HOSTILE_PLANTS.filter(({ id }) => BigInt(Number(id)) === id && id ** 2n < 2n ** 106n);

  it.each([
    { program: 'sqlite3 -csv -header', file: 'sqlite3.csv', format: 'csv', plants: HOSTILE_PLANTS },
    { program: 'jq -c', file: 'jq.ndjson', format: 'ndjson', plants: ROUNDED },
  ])('reads what $program writes', async ({ file, format, plants }) => {
    expect(await directory.run('import', [join(FIXTURES, file), '--format', format])).toEqual({
      status: 0,
      stdout: '',
      stderr: `${plants.length} created, 0 repeated, 0 conflicts, 0 rejected\n`,
    });
    expect(directory.rows()).toEqual(rowsOf(plants));
  });
});
