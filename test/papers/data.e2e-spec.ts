import { spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { EXIT_STATUS } from '../../src/operator-error.js';
import { post } from '../support/client.js';
import { MAIN } from '../support/command.js';
import { Paper } from '../support/paper.js';
import { ROOT } from '../support/root.js';
import { ServiceDirectory } from '../support/service-directory.js';

const GUIDE = new Paper('docs/data.md');

const BACKUP_UNIT = readFileSync(join(ROOT, 'deploy/plant-store-backup.service'), 'utf8');

const BACKUPS = '/var/backups/plant-store';

const directory = ServiceDirectory.ofEachTest();

beforeEach(async () => {
  await directory.store([{ id: 1n, name: 'Monstera' }]);
  mkdirSync(directory.file('backups'));
  // The program, as the guide names it.
  mkdirSync(directory.file('bin'));
  directory.write('bin/plant-store', `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`, 0o700);
});

/** Returns the first line of the guide that matches. */
function lineOf(pattern: RegExp): string {
  const [, line] = pattern.exec(GUIDE.text) ?? [];
  if (line === undefined) throw new Error(`The guide has no ${pattern.source}`);
  return line;
}

/** Runs a command of the guide in a shell, with the directories of the test. */
function run(command: string): SpawnSyncReturns<string> {
  const adapted = command
    .replaceAll(BACKUPS, directory.file('backups'))
    .replaceAll('/var/lib/plant-store', directory.path)
    .replaceAll('/usr/bin/node /opt/plant-store/dist/main.js', 'plant-store');
  const environment = { PATH: `${directory.file('bin')}:${process.env.PATH ?? ''}` };
  return spawnSync('sh', ['-c', adapted], { cwd: directory.path, env: environment, encoding: 'utf8' });
}

describe('The guide to the data', () => {
  it('has a backup and a restore that work', () => {
    expect(run(lineOf(/^(plant-store backup .*)$/m))).toMatchObject({ status: 0 });
    rmSync(directory.file('data'), { recursive: true });
    expect(run(lineOf(/^ +(plant-store restore .*)$/m))).toMatchObject({ status: 0 });

    expect(directory.names()).toEqual(['Monstera']);
  });

  it('installs a systemd unit that makes a backup and deletes old ones', () => {
    spawnSync('touch', ['-d', '20 days ago', directory.file('backups/plants-old.db')]);
    const commands = [...BACKUP_UNIT.matchAll(/^ExecStart(?:Post)?=(.*)$/gm)].map(([, command = '']) => command);
    expect(commands).toHaveLength(2);

    // systemd reads %% as % and splits words as a shell does, but without patterns for files.
    for (const command of commands) {
      expect(run(`set -f; ${command.replaceAll('%%', '%')}`)).toMatchObject({ status: 0, stdout: '' });
    }

    const [backup = '', ...others] = readdirSync(directory.file('backups'));
    expect(others).toEqual([]);
    expect(directory.names(`backups/${backup}`)).toEqual(['Monstera']);
  });

  it('has a trial of an import that changes nothing', () => {
    directory.write('plants.ndjson', '{"id":1,"name":"Ficus"}\n{"id":2,"name":"Aloe"}\n');
    const [backup = '', trial = '', remove = ''] = lineOf(/(plant-store backup trial\.db\n.+\n.+)\n/).split('\n');

    expect(run(backup)).toMatchObject({ status: 0 });
    expect(run(trial).stderr).toMatch(/1 created, 0 repeated, 1 conflict, 0 rejected\n$/);
    expect(run(remove)).toMatchObject({ status: 0 });
    expect(directory.names()).toEqual(['Monstera']);
    expect(readdirSync(directory.path).sort()).toEqual(['backups', 'bin', 'data', 'plants.ndjson']);
  });

  it('has a move to another store, and a comparison by digests', () => {
    directory.write('new-url', 'sqlite:other.db\n');
    const here = (command: string): string => command.replace('/etc/plant-store/new-url', 'new-url');

    const move = here(lineOf(/^ +(plant-store export \| .*)$/m));
    expect(run(move).stderr).toMatch(/^1 created, /m);
    expect(run(move).stderr).toMatch(/^0 created, 1 repeated, /m);
    const digest = run('plant-store verify');
    expect(digest).toMatchObject({ status: 0 });
    expect(run(here(lineOf(/^ +(DATABASE_URL=\S+ \S+ plant-store verify)$/m))).stderr).toBe(digest.stderr);
  });

  it('has statements that correct and delete a plant, at once and while the service runs', async () => {
    await directory.store([{ id: 2n, name: 'Ficus' }]);
    const { url } = await directory.start();
    const statements = [...GUIDE.text.matchAll(/plants\.db "((?:UPDATE|DELETE) .*)"$/gm)].map(([, sql = '']) => sql);
    expect(statements).toHaveLength(2);

    const database = directory.openDatabase();
    for (const statement of statements) database.exec(statement);

    expect((await post(url, '{"id": 1, "name": "Monstera"}')).body).toMatchObject({ error: 409 });
    expect(await post(url, '{"id": 1, "name": "Aloe"}')).toMatchObject({ status: 200 });
    expect(await post(url, '{"id": 2, "name": "Another"}')).toMatchObject({ status: 200 });
    expect(directory.names()).toEqual(['Aloe', 'Another']);
  });

  it('has the columns of the table in SQLite', async () => {
    await directory.store([]);
    const [{ sql } = { sql: '' }] = directory.openDatabase().all<{ sql: string }>('SELECT sql FROM sqlite_schema');
    const columns = GUIDE.tableIn('Read plants with SQL').map(([name = '', type = '']) => `${name} ${type}`);

    expect(sql).toContain(`(${columns.join(', ')})`);
  });

  it('has all exit statuses', () => {
    const statuses = GUIDE.tableIn('Exit status').map(([status]) => Number(status));

    expect(statuses).toEqual(Object.values(EXIT_STATUS));
  });
});
