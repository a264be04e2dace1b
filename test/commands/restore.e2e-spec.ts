import { once } from 'node:events';
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { backUp } from '../../src/storage/backup.js';
import type { StoredPlant } from '../../src/storage/plant-repository.js';
import { create, CREATED } from '../support/client.js';
import { type Run, spawnCommand } from '../support/command.js';
import { ServiceDirectory, type Variables } from '../support/service-directory.js';
import { until } from '../support/until.js';

const directory = ServiceDirectory.ofEachTest();

function restore(parameters: readonly string[], variables?: Variables): Promise<Run> {
  return directory.run('restore', parameters, variables);
}

/** Makes the backup `backup.db` of these plants and so many others; there is no other database. */
async function makeBackup(plants: readonly StoredPlant[], others = 0): Promise<void> {
  await directory.store(plants, 'source/plants.db');
  if (others > 0) directory.fill(others, 'source/plants.db');
  await backUp(directory.file('source/plants.db'), directory.file('backup.db'));
  rmSync(directory.file('source'), { recursive: true });
}

/** Changes the backup. */
function change(sql: string): void {
  const database = directory.openDatabase('backup.db');
  database.exec(sql);
  database.close();
}

const FEW: readonly StoredPlant[] = [
  { id: -(2n ** 63n), name: '' },
  { id: 0n, name: 'Ficus', tag: '' },
  { id: 2n ** 63n - 1n, name: 'Aloe', tag: 'indoor' },
];

describe('plant-store restore', () => {
  it('stores the plants of a backup, with which a service goes on', async () => {
    await makeBackup(FEW);

    expect(await restore(['backup.db'])).toEqual({
      status: 0,
      stdout: '',
      stderr: '3 plants restored from backup.db to data/plants.db\n',
    });
    expect(readdirSync(directory.file('data'))).toEqual(['plants.db']);
    const { url } = await directory.start();
    expect(await create(url, { id: 0, name: 'Ficus', tag: '' })).toMatchObject({ status: 200 });
    expect(await create(url)).toEqual(CREATED);
    expect(directory.rows().map(({ id, tag }) => [id, tag])).toEqual([
      [-9223372036854775808n, null],
      [0n, ''],
      [1n, null],
      [9223372036854775807n, 'indoor'],
    ]);
  });

  it('refuses while a service has the database open, also an empty one', async () => {
    await makeBackup(FEW);
    const { url } = await directory.start();

    expect(await restore(['backup.db'])).toEqual({
      status: 1,
      stdout: '',
      stderr:
        'plant-store: data/plants.db already exists: it may have plants, so move it away first, or import into it\n',
    });
    expect(await create(url)).toEqual(CREATED);
    expect(directory.names()).toEqual(['Monstera']);
  });

  it('refuses to begin a database beside a write-ahead log, which may be of another one', async () => {
    await makeBackup(FEW);
    mkdirSync(directory.file('data'));
    directory.write('data/plants.db-wal', 'something of value');

    const { status, stderr } = await restore(['backup.db']);

    expect(status).toBe(1);
    expect(stderr).toContain('plants.db-wal already exists: it may have plants, so move it away first');
    expect(readFileSync(directory.file('data/plants.db-wal'), 'utf8')).toBe('something of value');
    expect(readdirSync(directory.file('data'))).toEqual(['plants.db-wal']);
  });

  it.each<{ what: string; complaint: RegExp; prepare: () => unknown }>([
    {
      what: 'does not exist',
      complaint: /there is no file backup\.db/,
      prepare: () => rmSync(directory.file('backup.db')),
    },
    {
      what: 'is no database',
      complaint: /backup\.db is not a SQLite database/,
      prepare: () => directory.write('backup.db', 'Monstera, indoor\n'.repeat(99)),
    },
    {
      what: 'is the database of a service',
      complaint: /not a backup, but a database of a service/,
      prepare: () => change('PRAGMA journal_mode = WAL'),
    },
    {
      what: "is another program's database",
      complaint: /has no table of plants/,
      prepare: () => change('ALTER TABLE plants RENAME TO stones'),
    },
    {
      what: 'has a newer schema',
      complaint: /has a schema that is newer than this version/,
      prepare: () => change('PRAGMA user_version = 9999'),
    },
  ])('refuses a backup that $what, and creates nothing', async ({ complaint, prepare }) => {
    await makeBackup(FEW);
    prepare();

    const { status, stderr } = await restore(['backup.db']);

    expect(stderr).toMatch(complaint);
    expect(stderr).toMatch(/^plant-store: [^\n]+\n$/);
    expect(status).toBe(1);
    expect(existsSync(directory.file('data'))).toBe(false);
  });

  it.each([
    ['postgres://localhost/plants', /fill a PostgreSQL database with plant-store import or plant-store copy/],
    ['sqlite::memory:', /memory/],
  ])('refuses %s with status 2', async (url, complaint) => {
    const { status, stderr } = await restore(['backup.db'], { DATABASE_URL: url });

    expect(stderr).toMatch(complaint);
    expect(status).toBe(2);
  });

  it.each(['SIGHUP', 'SIGKILL'] as const)(
    'stores nothing when %s ends it, and everything afterwards',
    async (signal) => {
      await makeBackup([], 200_000);
      const child = spawnCommand('restore', directory.path, ['backup.db']);
      const ended = once(child, 'close');
      // The directory of its draft shows that it has begun to copy.
      await until('it has a directory', () => existsSync(directory.file('data')));

      child.kill(signal);

      expect(await ended).toEqual(signal === 'SIGHUP' ? [130, null] : [null, 'SIGKILL']);
      if (signal === 'SIGHUP') expect(readdirSync(directory.file('data'))).toEqual([]);
      expect(existsSync(directory.file('data/plants.db'))).toBe(false);
      const { status, stdout } = await restore(['backup.db', '--json']);
      expect(status).toBe(0);
      expect(JSON.parse(stdout)).toEqual({ file: 'data/plants.db', backup: 'backup.db', plants: 200_000 });
      expect(directory.rows()).toHaveLength(200_000);
    },
  );

  if (process.getuid?.() !== 0) return;

  it('gives the files to the owner of the directory when root runs it', async () => {
    await makeBackup(FEW);
    mkdirSync(directory.file('state'));
    chownSync(directory.file('state'), 12_345, 12_345);

    await restore(['backup.db'], { DATABASE_URL: 'sqlite:state/data/plants.db' });

    for (const name of ['state/data', 'state/data/plants.db']) {
      const { uid, gid, mode } = statSync(directory.file(name));
      expect({ name, uid, gid, others: mode & 0o077 }).toEqual({ name, uid: 12_345, gid: 12_345, others: 0 });
    }
  });
});
