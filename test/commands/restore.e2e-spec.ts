import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { create, CREATED } from '../support/client.js';
import { ServiceDirectory } from '../support/service-directory.js';

const directory = ServiceDirectory.ofEachTest();

/** Makes the backup `backup.db`, without which there is no database. */
beforeEach(async () => {
  await directory.store([
    { id: -(2n ** 63n), name: '' },
    { id: 0n, name: 'Ficus', tag: '' },
    { id: 2n ** 63n - 1n, name: 'Aloe', tag: 'indoor' },
  ]);
  await directory.run('backup', ['backup.db']);
  rmSync(directory.file('data'), { recursive: true });
});

/** Changes the backup. */
function change(sql: string): void {
  const database = directory.openDatabase('backup.db');
  database.exec(sql);
  database.close();
}

describe('plant-store restore', () => {
  it('stores the plants of a backup, with which a service goes on', async () => {
    expect(await directory.run('restore', ['backup.db'])).toEqual({
      status: 0,
      stdout: '',
      stderr: '3 plants restored from backup.db to data/plants.db\n',
    });
    expect(readdirSync(directory.file('data'))).toEqual(['plants.db']);
    const { url } = await directory.start();
    expect(await create(url, { id: 0, name: 'Ficus', tag: '' })).toMatchObject({ status: 200 });
    expect(await create(url)).toEqual(CREATED);
    expect(directory.rows()).toEqual([
      { id: -(2n ** 63n), name: '', tag: null },
      { id: 0n, name: 'Ficus', tag: '' },
      { id: 1n, name: 'Monstera', tag: null },
      { id: 2n ** 63n - 1n, name: 'Aloe', tag: 'indoor' },
    ]);
  });

  it.each([
    { name: 'plants.db', text: 'something of value' },
    { name: 'plants.db-wal', text: 'something of value' },
  ])('refuses while there is a file $name with "$text", and leaves it as it is', async ({ name, text }) => {
    mkdirSync(directory.file('data'));
    const file = directory.write(`data/${name}`, text);

    const { status, stderr } = await directory.run('restore', ['backup.db']);

    expect(stderr).toMatch(/ already exists: it may have plants, so move it away first, or import into it\n$/);
    expect(status).toBe(1);
    expect(readFileSync(file, 'utf8')).toBe(text);
    expect(readdirSync(directory.file('data'))).toEqual([name]);
  });

  it.each<{ what: string; complaint: string; prepare: () => unknown }>([
    {
      what: 'is no database',
      complaint: 'backup.db cannot be used: file is not a database',
      prepare: () => directory.write('backup.db', 'Monstera, indoor\n'.repeat(99)),
    },
    {
      what: 'is the database of a service',
      complaint: 'it is the database of a service, or a copy of one: make a backup of it with plant-store backup',
      prepare: () => change('PRAGMA journal_mode = WAL'),
    },
    {
      what: "is another program's database",
      complaint: 'no such table: plants',
      prepare: () => change('ALTER TABLE plants RENAME TO stones'),
    },
  ])('refuses a backup that $what, and creates nothing', async ({ complaint, prepare }) => {
    prepare();

    const { status, stderr } = await directory.run('restore', ['backup.db']);

    expect(stderr).toContain(complaint);
    expect(stderr).toMatch(/^plant-store: [^\n]+\n$/);
    expect(status).toBe(1);
    expect(existsSync(directory.file('data'))).toBe(false);
  });
});
