import { readFileSync, renameSync, truncateSync, writeFileSync } from 'node:fs';
import { CREATED, create, created, MONSTERA, monstera, refusal, TOKEN } from '../support/client.js';
import { storeFrom, violationsIn } from '../support/history.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';
import { Workload } from '../support/workload.js';

const directory = ServiceDirectory.ofEachTest();

function ids(): number[] {
  return directory.rows().map(({ id }) => Number(id));
}

describe('A disk without space', () => {
  /** No file may grow beyond 512 KiB: less than the write-ahead log takes until its first checkpoint. */
  const LIMITED = ['sh', '-c', 'ulimit -f 1024; exec "$@"', 'sh'];

  it('is answered with error 503 and nothing stored, until there is space again', async () => {
    const { service, url } = await directory.start(WITH_TOKEN, { wrapper: LIMITED });
    const name = 'n'.repeat(10_000);
    let id = 1;
    // Fewer than 100 of them fit.
    while (id < 100 && (await create(url, { id, name })).status === 200) id += 1;
    expect(id).toBeGreaterThan(10);
    expect(await create(url, { id, name })).toEqual(refusal(503));
    expect(ids()).toEqual(Array.from({ length: id - 1 }, (_, index) => index + 1));

    directory.openDatabase().exec('PRAGMA wal_checkpoint(TRUNCATE)');
    expect(await create(url, { id, name })).toEqual(created(name));
    expect(ids()).toContain(id);
    await service.stop();
    const messages = service.lines.map((line) => (JSON.parse(line) as { message: string }).message);
    expect(messages.filter((message) => message.includes('refused'))).toEqual([
      expect.stringMatching(/^Plants refused with 503: the database cannot be used: /),
      'The store takes plants again; plants refused meanwhile: 2',
    ]);
  });

  it('loses no acknowledged plant of 16 clients', async () => {
    const { service, url } = await directory.start(WITH_TOKEN, { wrapper: LIMITED });
    const workload = new Workload(() => url, { token: TOKEN, clients: 16, seed: 1 });
    await workload.until(() => (workload.errors.get(503) ?? 0) >= 100);
    await workload.stop();
    await service.stop('SIGKILL');

    expect(violationsIn(workload.history, storeFrom(directory.rows()))).toEqual([]);
    expect([...workload.errors.keys()].sort()).toEqual([409, 503]);
  });
});

describe('A database that is damaged in place', () => {
  it('is answered with error 503', async () => {
    await directory.store([]);
    // More than the service keeps in memory.
    directory.fill(100_000);
    const { service, url } = await directory.start();
    const file = directory.file('data/plants.db');
    const bytes = readFileSync(file);
    writeFileSync(file, bytes.fill(0xaa, 8_192), { flag: 'r+' });

    expect(await create(url, monstera(50_000))).toEqual(refusal(503));
    await service.printed(/(the database cannot be used: database disk image is malformed)/);
  });
});

describe('A backup that is moved over the database of a running service', () => {
  it('is refused with error 503 and one line, and is found after the steps of this line', async () => {
    const { service, url } = await directory.start();
    expect(await create(url, monstera(1))).toEqual(CREATED);
    await directory.run('backup', ['backup.db']);
    expect(await create(url, monstera(2))).toEqual(CREATED);

    renameSync(directory.file('backup.db'), directory.file('data/plants.db'));
    for (let id = 3; id < 6; id += 1) expect(await create(url, monstera(id))).toEqual(refusal(503));
    const line = await service.printed(/"(Plants refused with 503: [^"]+)"/);
    expect(service.stdout.split('Plants refused with 503')).toHaveLength(2);
    const log = directory.file('data/plants.db');
    expect(line).toBe(
      `Plants refused with 503: the database ${log} was removed or replaced: put it back; or, to use another file, ` +
        `stop the service, move ${log}-wal and ${log}-shm away, and start the service`,
    );
    expect(await service.stop()).toBe(0);
    for (const file of ['plants.db-wal', 'plants.db-shm']) {
      renameSync(directory.file(`data/${file}`), directory.file(file));
    }
    const next = await directory.start();

    expect(await create(next.url, monstera(6))).toEqual(CREATED);
    expect(ids()).toEqual([1, 6]);
  });

  it('takes creates again when the database is put back', async () => {
    const { service, url } = await directory.start();
    renameSync(directory.file('data/plants.db'), directory.file('away.db'));
    expect(await create(url)).toEqual(refusal(503));
    renameSync(directory.file('away.db'), directory.file('data/plants.db'));

    expect(await create(url)).toEqual(CREATED);
    await service.printed(/(The store takes plants again; plants refused meanwhile: 1)/);
    expect(ids()).toEqual([1]);
  });
});

describe('Several processes on one file', () => {
  it('start at the same time in an empty directory', async () => {
    const services = await Promise.all(Array.from({ length: 4 }, () => directory.start()));

    for (const { url } of services) expect(await create(url)).toEqual(CREATED);
    expect(ids()).toEqual([1]);
  });

  it('wait for the lock, and answer other requests meanwhile', async () => {
    const { url } = await directory.start({ ...WITH_TOKEN, STORE_TIMEOUT: '2m' });
    const other = directory.openDatabase();
    other.exec('BEGIN EXCLUSIVE');

    const waiting = create(url);
    const before = performance.now();
    for (let requests = 0; requests < 5; requests += 1) {
      expect(await create(url, MONSTERA, 'wrong')).toEqual(refusal(401));
    }
    // A process that waits inside SQLite answers once in five seconds.
    expect(performance.now() - before).toBeLessThan(10_000);
    other.close();

    expect(await waiting).toEqual(CREATED);
  });

  it('give up on the lock after STORE_TIMEOUT, with error 503 and nothing stored', async () => {
    const { url } = await directory.start({ ...WITH_TOKEN, STORE_TIMEOUT: '500ms' });
    const other = directory.openDatabase();
    other.exec('BEGIN EXCLUSIVE');

    expect(await create(url)).toEqual(refusal(503));
    other.close();

    expect(ids()).toEqual([]);
  });
});

describe('A start', () => {
  it('refuses a database that is damaged', async () => {
    await directory.store([]);
    directory.fill(1_000);
    truncateSync(directory.file('data/plants.db'), 8_192);

    expect(await directory.failedStart(WITH_TOKEN)).toEqual({
      status: 1,
      complaint: 'plant-store: the database data/plants.db cannot be used: database disk image is malformed\n',
    });
  });

  it('refuses a database that another process keeps locked', async () => {
    await directory.store([]);
    directory.openDatabase().exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');

    const service = directory.launch(WITH_TOKEN);

    expect(await service.ended).toBe(1);
    expect(service.stderr).toMatch(
      /data\/plants\.db cannot be used: database is locked; stop the other process that uses it\n$/,
    );
  });
});
