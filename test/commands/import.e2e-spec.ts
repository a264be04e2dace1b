import { readdirSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Run } from '../support/command.js';
import { HOSTILE_PLANTS } from '../support/hostile-plants.js';
import { ServiceDirectory } from '../support/service-directory.js';

const FIXTURES = join(import.meta.dirname, 'fixtures');

const directory = ServiceDirectory.ofEachTest();

/** Imports a file of this name and content. */
function importFile(name: string, text: string | Buffer, parameters: readonly string[] = []): Promise<Run> {
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

  it('ends with status 3 for conflicts alone', async () => {
    await directory.store([{ id: 1n, name: 'Monstera' }]);

    expect(await importFile('plants.ndjson', '{"id":1,"name":"Ficus"}\n')).toEqual({
      status: 3,
      stdout: '',
      stderr: 'line 1: The id 1 belongs to another plant.\n0 created, 0 repeated, 1 conflict, 0 rejected\n',
    });
  });

  it('imports nothing from an empty NDJSON', async () => {
    expect(await directory.run('import')).toEqual({
      status: 0,
      stdout: '',
      stderr: '0 created, 0 repeated, 0 conflicts, 0 rejected\n',
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

  it('takes the format from the ending of the file, unless --format names it', async () => {
    expect(await importFile('one.CSV', 'id,name\n1,a\n')).toMatchObject({ status: 0 });
    expect(await importFile('two.ndjson', '{"id":2,"name":"b"}\n')).toMatchObject({ status: 0 });
    expect(await importFile('three', '{"id":3,"name":"c"}\n')).toMatchObject({ status: 0 });
    expect(await importFile('four.txt', 'id,name\n4,d\n', ['--format', 'csv'])).toMatchObject({ status: 0 });
    expect(await importFile('five.csv', '{"id":5,"name":"e"}\n', ['--format', 'ndjson'])).toMatchObject({ status: 0 });
    expect(directory.names()).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('reads the file that a symbolic link names', async () => {
    symlinkSync('plants.ndjson', directory.file('latest.ndjson'));
    directory.write('plants.ndjson', '{"id":1,"name":"Monstera"}\n');

    expect(await directory.run('import', ['latest.ndjson'])).toMatchObject({ status: 0 });
    expect(directory.names()).toEqual(['Monstera']);
  });

  it.each([
    { name: 'plants', text: 'id,name\n1,a\n', complaint: /--format csv$/m },
    { name: 'plants', text: '[{"id":1,"name":"a"}]', complaint: /jq -c '\.\[\]'/ },
    { name: 'plants.csv', text: '{"id":1}\n', complaint: /--format ndjson$/m },
    { name: 'plants.csv', text: '', complaint: /the file is empty/ },
    { name: 'plants.csv', text: Buffer.from('id,name\n1,\xe9\n', 'latin1'), complaint: /the file is not UTF-8/ },
  ])('refuses a file of another format with one line: $complaint', async ({ name, text, complaint }) => {
    const { status, stderr } = await importFile(name, text);

    expect(stderr).toMatch(/^plant-store: [^\n]+\n$/);
    expect(stderr).toMatch(complaint);
    expect(status).toBe(1);
  });

  it('refuses a file whose ending names no format, and creates no store', async () => {
    expect(await importFile('plants.xlsx', 'id,name\n1,a\n')).toEqual({
      status: 2,
      stdout: '',
      stderr:
        'plant-store: plants.xlsx ends with .xlsx, which names no format: use .ndjson or .csv, or pass --format\n',
    });
    expect(readdirSync(directory.path)).toEqual(['plants.xlsx']);
  });

  it('ends at a row of CSV with wrong quotation marks, and can go on when they are right', async () => {
    const before = 'id,name\r\n1,"two\r\nlines"\r\n';
    const run = (last: string): Promise<unknown> => directory.run('import', ['--format', 'csv'], {}, before + last);

    expect(await run('2,5" pot\r\n')).toEqual({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(/^plant-store: line 4: its quotation marks are wrong.+\n$/) as unknown,
    });
    expect(await run('2,"5"" pot"\r\n')).toMatchObject({ status: 0 });
    expect(directory.names()).toEqual(['two\r\nlines', '5" pot']);
  });

  it.each(['excel-german', 'google-sheets', 'libreoffice', 'pandas'])('reads the CSV of %s', async (name) => {
    const { status, stderr } = await directory.run('import', [join(FIXTURES, `${name}.csv`)]);

    expect(stderr.endsWith('5 created, 0 repeated, 0 conflicts, 0 rejected\n')).toBe(true);
    expect(stderr.startsWith('The file does not end in a line break')).toBe(name === 'google-sheets');
    expect(status).toBe(0);
    expect(directory.rows()).toEqual([
      { id: 1n, name: 'Monstera', tag: 'indoor' },
      { id: 2n, name: 'Fiddle-leaf fig, large', tag: null },
      { id: 3n, name: 'Bogenhanf "Moonshine"', tag: null },
      { id: 4n, name: 'Zwei\nZeilen', tag: 'Balkon; Süd' },
      { id: 9007199254740993n, name: 'Éléphant 🪴', tag: null },
    ]);
  });

  it('reads what sqlite3 -csv -header writes', async () => {
    expect(await directory.run('import', [join(FIXTURES, 'sqlite3.csv')])).toEqual({
      status: 0,
      stdout: '',
      stderr: `${HOSTILE_PLANTS.length} created, 0 repeated, 0 conflicts, 0 rejected\n`,
    });
    expect(directory.rows()).toEqual(HOSTILE_PLANTS.map(({ tag, ...plant }) => ({ ...plant, tag: tag ?? null })));
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
