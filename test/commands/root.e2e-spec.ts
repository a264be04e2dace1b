import { chownSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { create, CREATED } from '../support/client.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';

/** The user of a service. */
const OWNER = 12_345;

const VARIABLES = { ...WITH_TOKEN, DATABASE_URL: 'sqlite:state/data/plants.db' };

const directory = ServiceDirectory.ofEachTest();

/** Nothing but root can give files away. deploy.yml runs this spec as root; elsewhere, its tests count as skipped. */
const describeOfRoot = process.getuid?.() === 0 ? describe : describe.skip;

describeOfRoot('Root, for a service that has a user of its own', () => {
  beforeEach(() => {
    mkdirSync(directory.file('state'));
    chownSync(directory.file('state'), OWNER, OWNER);
  });

  /** Expects that `state/data` has these files, which only their owner, that of `state`, can read. */
  function expectFilesOfOwner(...names: string[]): void {
    expect(readdirSync(directory.file('state/data')).sort()).toEqual(names);
    for (const name of ['', ...names]) {
      const { uid, gid, mode } = statSync(directory.file(`state/data/${name}`));
      expect({ name, uid, gid, others: mode & 0o077 }).toEqual({ name, uid: OWNER, gid: OWNER, others: 0 });
    }
  }

  it('restores a backup, which belongs to the owner of the directory', async () => {
    await directory.store([]);
    await directory.run('backup', ['backup.db']);

    expect(await directory.run('restore', ['backup.db'], VARIABLES)).toMatchObject({ status: 0 });
    expectFilesOfOwner('plants.db');
  });

  it('creates and revokes a token, and the file belongs to the owner of the directory', async () => {
    const tokens = ['--file', 'state/data/tokens'];
    expect(await directory.run('token', ['create', '--name', 'one', ...tokens])).toMatchObject({ status: 0 });
    expectFilesOfOwner('tokens');

    expect(await directory.run('token', ['revoke', 'one', ...tokens])).toMatchObject({ status: 0 });
    expectFilesOfOwner('tokens');
  });

  it('starts the service by mistake, whose files belong to the owner of the directory', async () => {
    const { url } = await directory.start(VARIABLES);

    expect(await create(url)).toEqual(CREATED);
    expectFilesOfOwner('plants.db', 'plants.db-shm', 'plants.db-wal');
  });
});
