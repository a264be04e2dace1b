import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { HOSTILE_PLANTS } from '../support/hostile-plants.js';
import { ServiceDirectory } from '../support/service-directory.js';

const FIXTURE = join(import.meta.dirname, 'fixtures/sqlite3.csv');

const directory = ServiceDirectory.ofEachTest();

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

  it('reads what sqlite3 -csv -header writes', async () => {
    expect(await directory.run('import', [FIXTURE, '--format', 'csv'])).toEqual({
      status: 0,
      stdout: '',
      stderr: `${HOSTILE_PLANTS.length} created, 0 repeated, 0 conflicts, 0 rejected\n`,
    });
    expect(directory.rows()).toEqual(HOSTILE_PLANTS.map(({ tag, ...plant }) => ({ ...plant, tag: tag ?? null })));
  });
});
