import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { spawnCommand } from '../support/command.js';
import { ServiceDirectory } from '../support/service-directory.js';
import { until } from '../support/until.js';

const directory = ServiceDirectory.ofEachTest();

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

  it('creates a file that only its owner can read, and overwrites none', async () => {
    await directory.store([{ id: 1n, name: 'Monstera' }]);

    expect(await directory.run('export', ['plants.ndjson', '--json'])).toEqual({
      status: 0,
      stdout: '{"file":"plants.ndjson","plants":1}\n',
      stderr: '',
    });
    expect(await directory.run('export', ['plants.ndjson'])).toEqual({
      status: 1,
      stdout: '',
      stderr: 'plant-store: plants.ndjson already exists: name another file\n',
    });
    expect(readFileSync(directory.file('plants.ndjson'), 'utf8')).toBe('{"id":1,"name":"Monstera"}\n');
    expect(readdirSync(directory.path).sort()).toEqual(['data', 'plants.ndjson']);
  });

  it('ends quietly when its reader has read enough', async () => {
    await directory.store([]);
    directory.fill(100_000);
    const child = spawnCommand('export', directory.path, []);
    let stderr = '';
    child.stderr.on('data', (text: Buffer) => (stderr += text.toString()));
    await once(child.stdout, 'data');
    child.stdout.destroy();

    expect(await once(child, 'close')).toEqual([0, null]);
    expect(stderr).toBe('');
  });

  it.each(['SIGINT', 'SIGKILL'] as const)(
    'writes no part of a file when %s ends it, and can run again',
    async (signal) => {
      await directory.store([]);
      directory.fill(200_000);
      const child = spawnCommand('export', directory.path, ['plants.ndjson']);
      const ended = once(child, 'close');
      await until('it has a file', () => readdirSync(directory.path).length > 1);

      child.kill(signal);

      expect(await ended).toEqual(signal === 'SIGINT' ? [130, null] : [null, 'SIGKILL']);
      if (signal === 'SIGINT') expect(readdirSync(directory.path)).toEqual(['data']);
      expect(existsSync(directory.file('plants.ndjson'))).toBe(false);
      expect(await directory.run('export', ['plants.ndjson'])).toMatchObject({
        status: 0,
        stderr: 'plants.ndjson has 200000 plants\n',
      });
    },
  );

  it.each<{ what: string; status: number; complaint: RegExp; parameters?: readonly string[]; url?: string }>([
    { what: 'names no database', status: 1, complaint: /there is no database data\/plants\.db: DATABASE_URL/ },
    { what: 'names a database in memory', status: 2, complaint: /in memory/, url: 'sqlite::memory:' },
    { what: 'names a file with an empty name', status: 2, complaint: /file is empty/, parameters: [''] },
  ])('that $what fails with status $status and one line', async ({ status, complaint, parameters, url = '' }) => {
    const failure = await directory.run('export', parameters, { DATABASE_URL: url });

    expect(failure).toEqual({ status, stdout: '', stderr: expect.stringMatching(complaint) as unknown });
    expect(failure.stderr).toMatch(/^[^\n]+\n$/);
    expect(readdirSync(directory.path)).toEqual([]);
  });
});
