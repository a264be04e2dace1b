import { readdirSync, readFileSync, statSync } from 'node:fs';
import { importing } from '../support/node-process.js';
import { ServiceDirectory } from '../support/service-directory.js';
import { until } from '../support/until.js';

const directory = ServiceDirectory.ofEachTest();

/** Returns whether a process waits for something. */
function isAsleep(pid = 0): boolean {
  return readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') S ');
}

describe('plant-store export', () => {
  it('writes each plant as a NewPlant, in the order of the ids', async () => {
    await directory.store([
      { id: 9007199254740993n, name: 'Monstera', tag: 'a "b"\n' },
      { id: -1n, name: '', tag: '' },
      { id: 7n, name: 'Ficus' },
    ]);

    expect(await directory.run('export')).toEqual({
      status: 0,
      stdout:
        '{"id":-1,"name":"","tag":""}\n{"id":7,"name":"Ficus"}\n' +
        '{"id":9007199254740993,"name":"Monstera","tag":"a \\"b\\"\\n"}\n',
      stderr: '3 plants exported\n',
    });
    expect(await directory.run('export', ['-', '--format', 'csv'])).toEqual({
      status: 0,
      stdout: 'id,name,tag\r\n-1,"",""\r\n7,"Ficus",\r\n9007199254740993,"Monstera","a ""b""\n"\r\n',
      stderr: '3 plants exported\n',
    });
  });

  it('writes the header of CSV without plants, too, but nothing if it cannot read the store', async () => {
    await directory.store([]);
    const csv = ['-', '--format', 'csv'];

    expect(await directory.run('export', csv)).toMatchObject({ status: 0, stdout: 'id,name,tag\r\n' });
    expect(await directory.run('export', csv, { DATABASE_URL: 'sqlite:none.db' })).toMatchObject({
      status: 1,
      stdout: '',
    });
  });

  it('prints its result as JSON where the plants do not go', async () => {
    await directory.store([{ id: 1n, name: 'Monstera' }]);

    expect(await directory.run('export', ['--json'])).toEqual({
      status: 0,
      stdout: '{"id":1,"name":"Monstera"}\n',
      stderr: '{"plants":1}\n',
    });
    expect(await directory.run('export', ['--json', 'plants.csv'])).toEqual({
      status: 0,
      stdout: '{"file":"plants.csv","plants":1}\n',
      stderr: '',
    });
  });

  it('creates a file that only its owner can read, in the format that --format names', async () => {
    await directory.store([{ id: 1n, name: 'Monstera' }]);

    expect(await directory.run('export', ['plants.txt', '--format', 'csv'])).toEqual({
      status: 0,
      stdout: '',
      stderr: 'plants.txt has 1 plant\n',
    });
    expect(readFileSync(directory.file('plants.txt'), 'utf8')).toBe('id,name,tag\r\n1,"Monstera",\r\n');
    expect(statSync(directory.file('plants.txt')).mode & 0o777).toBe(0o600);
  });

  it('creates the file where the file system has no hard links', async () => {
    await directory.store([{ id: 1n, name: 'Monstera' }]);
    const withoutLinks = importing(
      "import fs from 'node:fs'; import { syncBuiltinESMExports } from 'node:module';" +
        "fs.linkSync = () => { throw Object.assign(new Error('EPERM'), { code: 'EPERM', syscall: 'link' }); };" +
        'syncBuiltinESMExports();',
    );

    expect(await directory.run('export', ['plants.ndjson'], withoutLinks)).toMatchObject({ status: 0 });
    expect(readFileSync(directory.file('plants.ndjson'), 'utf8')).toBe('{"id":1,"name":"Monstera"}\n');
    expect(readdirSync(directory.path).sort()).toEqual(['data', 'plants.ndjson']);
  });

  it('reads plants no faster than its reader, so that few of them are in memory', async () => {
    await directory.store([]);
    directory.fill(100_000);
    const running = directory.command('export', []);
    running.child.stdout.pause();
    let asleep = 0;
    await until('it ends, or waits for its reader', () => {
      asleep = isAsleep(running.child.pid) && running.child.stdout.readableLength > 0 ? asleep + 1 : 0;
      return asleep > 100 || running.stderr !== '';
    });
    expect(running.stderr).toBe('');
    running.child.stdout.resume();

    expect(await running.ended).toBe(0);
    expect(running.stdout.split('\n')).toHaveLength(100_001);
  });

  it('ends quietly when its reader has read enough', async () => {
    await directory.store([]);
    directory.fill(100_000);
    const running = directory.command('export', []);
    await running.printed(/("id")/);
    running.child.stdout.destroy();

    expect(await running.ended).toBe(0);
    expect(running.stderr).toBe('');
  });
});
