import { mkdirSync, readdirSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { CREATED, create, monstera, refusal } from '../support/client.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';

const directory = ServiceDirectory.ofEachTest();

describe('The database of DATABASE_URL', () => {
  /** Each spelling, and the file that it names. */
  it.each([
    ['sqlite:plants.db\u00a0', 'plants.db'],
    ['sqlite:./elsewhere/../plants.db', 'plants.db'],
    ['sqlite:new/directory/', 'new/directory'],
    ['sqlite:plants%20.db', 'plants%20.db'],
    ['sqlite:file:plants.db?mode=memory', 'file:plants.db?mode=memory'],
    ['sqlite::MEMORY:', ':MEMORY:'],
    ['sqlite:link.db', 'disk/plants.db'],
    ['sqlite:link/plants.db', 'disk/plants.db'],
  ])('%j is %s, and is answered with error 503 after its write-ahead log is removed', async (url, name) => {
    mkdirSync(directory.file('disk'));
    symlinkSync('disk', directory.file('link'));
    symlinkSync('disk/plants.db', directory.file('link.db'));

    const started = await directory.start({ ...WITH_TOKEN, DATABASE_URL: url });
    expect(await create(started.url)).toEqual(CREATED);
    expect(directory.names(name)).toEqual(['Monstera']);
    rmSync(directory.file(`${name}-wal`));

    expect(await create(started.url, monstera(2))).toEqual(refusal(503));
  });

  it('is answered with error 503 after its symbolic link leads to another file', async () => {
    directory.openDatabase('other.db').close();
    symlinkSync('plants.db', directory.file('link.db'));
    const { url } = await directory.start({ ...WITH_TOKEN, DATABASE_URL: 'sqlite:link.db' });
    rmSync(directory.file('link.db'));
    symlinkSync('other.db', directory.file('link.db'));

    expect(await create(url)).toEqual(refusal(503));
  });

  it.each(['sqlite::memory:', 'sqlite::memory: '])('%j is in memory, without a file', async (url) => {
    const started = await directory.start({ ...WITH_TOKEN, DATABASE_URL: url });

    expect(await create(started.url)).toEqual(CREATED);
    expect(await started.service.stop()).toBe(0);
    expect(readdirSync(directory.path)).toEqual([]);
  });

  it('is refused when it is a directory', async () => {
    const url = `sqlite:${realpathSync(directory.path)}/`;

    expect(await directory.failedStart({ ...WITH_TOKEN, DATABASE_URL: url })).toEqual({
      status: 1,
      complaint: `plant-store: the database ${url.slice(7)} cannot be opened; it must be a file in a directory where this user may write\n`,
    });
  });
});
