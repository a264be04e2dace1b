import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { Run } from '../support/command.js';
import { HOSTILE_PLANTS } from '../support/hostile-plants.js';
import { ServiceDirectory } from '../support/service-directory.js';

const FIXTURE = join(import.meta.dirname, 'fixtures/sqlite3.csv');

const directory = ServiceDirectory.ofEachTest();

/** Imports a file of this name and text. */
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
      `{"id":4,"name":"${'long'.repeat(300)}"}`,
      '{"id":2,"name":"Aloe"}',
    ].join('\n');

    expect(await directory.run('import', ['--json'], { BODY_LIMIT: '1kb' }, input)).toEqual({
      status: 3,
      stdout: '{"created":1,"repeated":2,"conflict":1,"rejected":3}\n',
      stderr: [
        'line 2: The id 1 belongs to another plant.',
        'line 4: id must be an integer from -9223372036854775808 to 9223372036854775807: send it without quotation marks.',
        'line 5: The row is not JSON: send an object such as {"id":1,"name":"Monstera"}.',
        'line 6: The row is too long: at most 1056 bytes are accepted; raise BODY_LIMIT.',
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
        'line 3: The database refuses it: the table plants does not take a plant, although its id is free: look at the triggers of the table',
        'line 4: The database refuses it: no succulents',
        'line 6: The database refuses it: no succulents',
        '2 created, 1 repeated, 0 conflicts, 3 rejected',
        '',
      ].join('\n'),
    });
    expect(directory.names()).toEqual(['Monstera', 'Ficus', 'Calathea']);
  });

  it.each([
    {
      format: 'ndjson',
      rows: '{"id":1,"name":"Ficus"}\n {"id":"2","name":"Aloe é"}\nFicus é\n{}\n',
      rejects:
        '{"line":1,"reason":"The id 1 belongs to another plant.","id":1,"name":"Ficus"}\n' +
        '{"line":2,"reason":"id must be an integer .+","id":"2","name":"Aloe é"}\n' +
        '{"line":3,"reason":"The row is not JSON: .+","row":"Ficus é"}\n' +
        '{"line":4,"reason":"id is missing: .+"}\n',
      correct: (text: string) =>
        text.replace('"id":1,', '"id":3,').replace('"2"', '2').replace('"row"', '"id":4,"name"').replace('}\n$', ''),
    },
    {
      format: 'csv',
      rows: 'Name,x,ID\r\nFicus,,1\r\n"Aloe é\n""b""",,a\r\nFicus,4\r\n',
      rejects:
        'line,reason,Name,x,ID\r\n' +
        '2,"The id 1 belongs to another plant.",Ficus,,1\r\n' +
        '3,"id must be an integer .+",.Aloe é\n""b"".,,a\r\n' +
        '5,"The header has 3 fields, but the row 2.",Ficus,4\r\n',
      correct: (text: string) => text.replace(',,1', ',,3').replace(',,a', ',,2').replace('Ficus,4', 'Ficus,,4'),
    },
  ])('writes rejected rows of $format to a file, which can be corrected and imported', async (test) => {
    const { format, rows, rejects, correct } = test;
    await directory.store([{ id: 1n, name: 'Monstera' }]);

    const run = await importFile(`plants.${format}`, rows, ['--rejects', `rejects.${format}`]);
    expect(run).toMatchObject({ status: 3, stderr: expect.stringMatching(/^0 created, .+\n$/) as unknown });
    const text = readFileSync(directory.file(`rejects.${format}`), 'utf8');
    expect(text).toMatch(new RegExp(`^${rejects.replaceAll(/[{}$]/g, '\\$&')}$`));
    expect(statSync(directory.file(`rejects.${format}`)).mode & 0o777).toBe(0o600);

    const again = await importFile(`corrected.${format}`, correct(text));
    expect(again.stderr).toMatch(/3 created, 0 repeated, 0 conflicts, [01] rejected\n$/);
    expect(directory.names()[1]).toMatch(/^Aloe é/);
  });

  it('leaves the ends of rejected rows of CSV as they are', async () => {
    mkdirSync(directory.file('data'));
    // The last byte of à is that of a no-break space in latin1.
    const rows = 'id,name,tag\na,Monstera,indoor \nb,Ficus,à\n';

    expect(await importFile('plants.csv', rows, ['--rejects', 'rejects.csv'])).toMatchObject({ status: 3 });
    expect(readFileSync(directory.file('rejects.csv'), 'utf8')).toMatch(/,a,Monstera,indoor \r\n.+,b,Ficus,à\r\n$/);
  });

  it('ends with status 3 for conflicts alone, and writes them to a file that is still empty', async () => {
    await directory.store([{ id: 1n, name: 'Monstera' }]);
    directory.write('rejects', '');

    expect(await importFile('plants.ndjson', '{"id":1,"name":"Ficus"}\n', ['--rejects', 'rejects'])).toEqual({
      status: 3,
      stdout: '',
      stderr: '0 created, 0 repeated, 1 conflict, 0 rejected\n',
    });
    expect(readFileSync(directory.file('rejects'), 'utf8')).toMatch(/^\{"line":1,.+"name":"Ficus"\}\n$/);
  });

  it.each([
    {
      format: 'ndjson',
      header: '',
      row: `{"id":1,"name":"${'x'.repeat(2_000)}"}`,
      rejects: '{"line":1,"reason":"$"}\n',
    },
    {
      format: 'csv',
      header: 'id,name\r\n',
      row: `1,${'x'.repeat(2_000)}`,
      rejects: 'line,reason,id,name\r\n2,"$",\r\n',
    },
  ])('writes only the line and the reason of a row of $format that is too long', async (test) => {
    const { format, header, row, rejects } = test;
    mkdirSync(directory.file('data'));
    const parameters = ['--format', format, '--rejects', 'rejects'];

    expect(await directory.run('import', parameters, { BODY_LIMIT: '1kb' }, `${header}${row}\n`)).toMatchObject({
      status: 3,
    });
    expect(readFileSync(directory.file('rejects'), 'utf8')).toBe(
      rejects.replace('$', 'The row is too long: at most 1056 bytes are accepted; raise BODY_LIMIT.'),
    );
  });

  it('imports nothing from an empty NDJSON', async () => {
    mkdirSync(directory.file('data'));

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
    mkdirSync(directory.file('data'));

    expect(await importFile('one.CSV', 'id,name\n1,a\n')).toMatchObject({ status: 0 });
    expect(await importFile('two.ndjson', '{"id":2,"name":"b"}\n')).toMatchObject({ status: 0 });
    expect(await importFile('three', '{"id":3,"name":"c"}\n')).toMatchObject({ status: 0 });
    expect(await importFile('four.txt', 'id,name\n4,d\n', ['--format', 'csv'])).toMatchObject({ status: 0 });
    expect(await importFile('five.csv', '{"id":5,"name":"e"}\n', ['--format', 'ndjson'])).toMatchObject({ status: 0 });
    expect(directory.names()).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('reads the file that a symbolic link names', async () => {
    mkdirSync(directory.file('data'));
    symlinkSync('plants.ndjson', directory.file('latest.ndjson'));
    directory.write('plants.ndjson', '{"id":1,"name":"Monstera"}\n');

    expect(await directory.run('import', ['latest.ndjson'])).toMatchObject({ status: 0 });
    expect(directory.names()).toEqual(['Monstera']);
  });

  it.each([
    { what: 'CSV as NDJSON', name: 'a', text: 'id,name\n1,a\n', complaint: /line 1 is not JSON.+--format csv/ },
    {
      what: 'NDJSON as CSV',
      name: 'a.csv',
      text: '{"id":1}\n',
      complaint: /If the file is NDJSON, pass --format ndjson$/m,
    },
    { what: 'CSV with CR alone', name: 'a.csv', text: 'id,name\r1,a\r2,b\r', complaint: /lines end with CR alone/ },
    { what: 'CSV that is empty', name: 'a.csv', text: '', complaint: /The file is empty/ },
    { what: 'CSV cut off in its header', name: 'a.csv', text: 'id,name', complaint: /first line has no end/ },
    {
      what: 'CSV without a header',
      name: 'a.csv',
      text: '1,a\n',
      complaint: /columns id and name.+tag may be missing/,
    },
  ])('refuses $what with one line', async ({ name, text, complaint }) => {
    mkdirSync(directory.file('data'));

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

  it('rejects a last row of CSV that may be cut off, and adds the others', async () => {
    mkdirSync(directory.file('data'));

    expect(await importFile('plants.csv', 'id,name,tag\r\n1,Monstera,indoor\r\n2,"Ficus",')).toMatchObject({
      status: 3,
      stderr:
        'line 3: The last line has no end, so the file may be cut off: complete the row, and end its line.\n' +
        '1 created, 0 repeated, 0 conflicts, 1 rejected\n',
    });
    expect(directory.names()).toEqual(['Monstera']);
  });

  it('ends at a row of CSV with wrong quotation marks, names its line, and can go on when they are right', async () => {
    mkdirSync(directory.file('data'));
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

  it('reads what sqlite3 -csv -header writes', async () => {
    mkdirSync(directory.file('data'));

    expect(await directory.run('import', [FIXTURE])).toEqual({
      status: 0,
      stdout: '',
      stderr: `${HOSTILE_PLANTS.length} created, 0 repeated, 0 conflicts, 0 rejected\n`,
    });
    expect(directory.rows()).toEqual(HOSTILE_PLANTS.map(({ tag, ...plant }) => ({ ...plant, tag: tag ?? null })));
  });

  it('creates a store, but not its directory: a slip in the URL would go unnoticed', async () => {
    const run = (url: string): Promise<Run> =>
      directory.run('import', [], { DATABASE_URL: url }, '{"id":1,"name":"Monstera"}\n');

    expect(await run('sqlite:dta/plants.db')).toEqual({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^plant-store: the database dta\/plants\.db cannot be used: it is in a directory that does not exist; create \S+\/dta, .+\n$/,
      ) as unknown,
    });
    expect(existsSync(directory.file('dta'))).toBe(false);
    expect(await run('sqlite:plants.db')).toMatchObject({ status: 0 });
  });
});
