import { existsSync, statSync } from 'node:fs';
import type { Run } from '../support/command.js';
import { ServiceDirectory } from '../support/service-directory.js';
import { until } from '../support/until.js';

const directory = ServiceDirectory.ofEachTest();

/** Imports a file of this name and content. */
function importFile(name: string, text: string, parameters: readonly string[] = []): Promise<Run> {
  directory.write(name, text);
  return directory.run('import', [name, ...parameters]);
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
      '{"id":2,"name":"Aloe"}',
    ].join('\n');

    expect(await directory.run('import', ['--json'], {}, input)).toEqual({
      status: 3,
      stdout: '{"created":1,"repeated":2,"conflict":1,"rejected":2}\n',
      stderr: [
        'line 2: The id 1 belongs to another plant.',
        'line 4: id must be an integer from -9223372036854775808 to 9223372036854775807: send it without quotation marks.',
        'line 5: The row is not JSON: send an object such as {"id":1,"name":"Monstera"}.',
        '',
      ].join('\n'),
    });
    expect(directory.names()).toEqual(['Monstera', 'Aloe']);
  });

  it('rejects the rows of plants that triggers of the operator keep out of the table, and adds the others', async () => {
    await directory.store([{ id: 1n, name: 'Monstera' }]);
    const database = directory.openDatabase();
    for (const [name, action] of [
      ['Aloe', 'IGNORE'],
      ['Agave', "ABORT, 'no succulents'"],
    ]) {
      const when = `CREATE TRIGGER ${name} BEFORE INSERT ON plants WHEN new.name = '${name}'`;
      database.exec(`${when} BEGIN SELECT RAISE(${action}); END`);
    }
    const names = ['Monstera', 'Ficus', 'Aloe', 'Agave', 'Calathea', 'Agave'];
    const rows = names.map((name, index) => `{"id":${index + 1},"name":"${name}"}`);

    expect(await importFile('plants.ndjson', rows.join('\n'))).toEqual({
      status: 3,
      stdout: '',
      stderr: [
        'line 3: It cannot be stored: the table plants does not take a plant, although its id is free: look at the triggers of the table',
        'line 4: It cannot be stored: no succulents',
        'line 6: It cannot be stored: no succulents',
        '2 created, 1 repeated, 0 conflicts, 3 rejected',
        '',
      ].join('\n'),
    });
    expect(directory.names()).toEqual(['Monstera', 'Ficus', 'Calathea']);
  });

  it('imports nothing from an empty NDJSON', async () => {
    expect(await directory.run('import')).toEqual({
      status: 0,
      stdout: '',
      stderr: '0 created, 0 repeated, 0 conflicts, 0 rejected\n',
    });
  });

  it('reads a pipe that has a name', async () => {
    directory.write('plants', '{"id":1,"name":"Monstera"}\n');
    const wrapper = ['sh', '-c', 'mkfifo pipe && { cat plants > pipe & } && exec "$@"', 'sh'];

    const { status, stderr } = await directory.run('import', ['pipe'], {}, '', { wrapper });

    expect({ status, stderr }).toEqual({ status: 0, stderr: '1 created, 0 repeated, 0 conflicts, 0 rejected\n' });
    expect(directory.names()).toEqual(['Monstera']);
  });

  it('prints nothing on stdout, not even a log, if another program locks the store for longer than STORE_TIMEOUT', async () => {
    const running = directory.command('import', ['--json'], { STORE_TIMEOUT: '100ms' });
    await until('it has created the store', () => {
      try {
        return existsSync(directory.file('data/plants.db')) && directory.names().length === 0;
      } catch {
        return false;
      }
    });
    directory.openDatabase().exec('BEGIN IMMEDIATE');
    running.child.stdin.end('{"id":1,"name":"Monstera"}\n');

    expect({ status: await running.ended, stdout: running.stdout, stderr: running.stderr }).toEqual({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(/^plant-store: .+locked.*\n$/) as unknown,
    });
  });

  it('goes on without the reader of its messages', async () => {
    await directory.store([]);
    const running = directory.command('import', []);
    running.child.stderr.destroy();
    running.child.stdin.end(`${'no plant\n'.repeat(1_000)}{"id":1,"name":"Monstera"}\n`);

    expect(await running.ended).toBe(3);
    expect(directory.names()).toEqual(['Monstera']);
  });

  it('ends at a row of CSV with wrong quotation marks, and can go on when they are right', async () => {
    const before = 'id,name\r\n1,"two\r\nlines"\r\n';
    const run = (last: string): Promise<unknown> => importFile('plants.csv', before + last);

    expect(await run('2,5" pot\r\n')).toEqual({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(/^plant-store: row 3: its quotation marks are wrong.+\n$/) as unknown,
    });
    expect(await run('2,"5"" pot"\r\n')).toMatchObject({ status: 0 });
    expect(directory.names()).toEqual(['two\r\nlines', '5" pot']);
  });

  it('asks to look at the last row of a CSV without a line break at its end, which it reads', async () => {
    expect(await importFile('plants', 'id,name\n1,Monstera', ['--format', 'csv'])).toEqual({
      status: 0,
      stdout: '',
      stderr:
        'The file does not end in a line break: check that its last row is complete.\n' +
        '1 created, 0 repeated, 0 conflicts, 0 rejected\n',
    });
  });

  it('creates a store and its directory, as the first start does', async () => {
    expect(await directory.run('import', [], {}, '{"id":1,"name":"Monstera"}\n')).toEqual({
      status: 0,
      stdout: '',
      stderr: '1 created, 0 repeated, 0 conflicts, 0 rejected\n',
    });
    expect(directory.names()).toEqual(['Monstera']);
    expect(statSync(directory.file('data')).mode & 0o777).toBe(0o700);
    expect(statSync(directory.file('data/plants.db')).mode & 0o777).toBe(0o600);
  });
});
