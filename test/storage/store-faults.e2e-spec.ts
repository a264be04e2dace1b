import { readFileSync, renameSync, truncateSync, writeFileSync } from 'node:fs';
import { CREATED, create, created, MONSTERA, monstera, refusal, TOKEN } from '../support/client.js';
import { storeFrom, violationsIn } from '../support/history.js';
import { ServiceDirectory, type Started, WITH_TOKEN } from '../support/service-directory.js';
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
    let id = 0;
    let answer = CREATED;
    while (answer.status === 200) {
      id += 1;
      answer = await create(url, { id, name });
    }

    expect(answer).toEqual(refusal(503));
    expect(id).toBeGreaterThan(10);
    expect(await create(url, { id, name })).toEqual(refusal(503));
    expect(ids()).toEqual(Array.from({ length: id - 1 }, (_, index) => index + 1));

    const database = directory.openDatabase();
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    database.close();
    expect(await create(url, { id, name })).toEqual(created(name));
    expect(ids()).toContain(id);
    expect(await service.stop()).toBe(0);
    const messages = service.lines.map((line) => (JSON.parse(line) as { message: string }).message);
    expect(messages.filter((message) => message.includes('refused'))).toEqual([
      expect.stringMatching(/^Plants refused with 503: 1; the database did not store them: /),
      expect.stringMatching(/^Plants refused with 503: 1; the database did not store them: /),
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

describe('A data directory that is moved away', () => {
  it('is answered with error 503, until it is back', async () => {
    const { service, url } = await directory.start();
    expect(await create(url)).toEqual(CREATED);

    renameSync(directory.file('data'), directory.file('elsewhere'));
    expect(await create(url, monstera(2))).toEqual(refusal(503));
    renameSync(directory.file('elsewhere'), directory.file('data'));

    expect(await create(url, monstera(3))).toEqual(CREATED);
    expect(await service.stop()).toBe(0);
  });
});

describe('A write-ahead log', () => {
  it('of which an operator makes checkpoints causes no refusal', async () => {
    const { service, url } = await directory.start();
    const database = directory.openDatabase();
    for (const [index, mode] of ['PASSIVE', 'FULL', 'RESTART', 'TRUNCATE'].entries()) {
      for (let id = 10 * index; id < 10 * index + 10; id += 1) {
        database.all(`PRAGMA wal_checkpoint(${mode})`);
        expect([mode, await create(url, monstera(id))]).toEqual([mode, CREATED]);
      }
    }
    database.exec('PRAGMA journal_size_limit = 0; VACUUM');
    database.exec("INSERT INTO plants VALUES (100, 'Ficus', NULL)");
    expect(await create(url, monstera(41))).toEqual(CREATED);
    database.close();
    expect(await service.stop()).toBe(0);

    expect(ids()).toHaveLength(42);
  });
});

describe('A database that is damaged in place', () => {
  it('is answered with error 503', async () => {
    await directory.store([]);
    const database = directory.openDatabase();
    // More than the service keeps in memory.
    database.exec(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
       INSERT INTO plants SELECT i, hex(zeroblob(500)), NULL FROM n`,
    );
    database.close();
    const { service, url } = await directory.start();
    const file = directory.file('data/plants.db');
    const bytes = readFileSync(file);
    writeFileSync(file, bytes.fill(0xaa, 8_192), { flag: 'r+' });

    expect(await create(url, monstera(50))).toEqual(refusal(503));
    await service.printed(/did not store them: (database disk image is malformed)/);
  });
});

describe('Two processes on one file', () => {
  it('start at the same time in an empty directory', async () => {
    const services = await Promise.all(Array.from({ length: 4 }, (): Promise<Started> => directory.start()));

    expect(await Promise.all(services.map(({ url }) => create(url)))).toEqual([CREATED, CREATED, CREATED, CREATED]);
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

  it('give up on the lock after five seconds, with error 503 and nothing stored', async () => {
    const { url } = await directory.start();
    const other = directory.openDatabase();
    other.exec('BEGIN EXCLUSIVE');

    expect(await create(url)).toEqual(refusal(503));
    other.close();

    expect(ids()).toEqual([]);
    expect(await create(url)).toEqual(CREATED);
  });
});

describe('A start', () => {
  async function expectFailure(complaint: string): Promise<void> {
    expect(await directory.failedStart(WITH_TOKEN)).toEqual({
      status: 1,
      complaint: `plant-store: the database data/plants.db ${complaint}\n`,
    });
  }

  async function fill(): Promise<void> {
    const name = 'n'.repeat(1_000);
    await directory.store(Array.from({ length: 100 }, (_, index) => ({ id: BigInt(index), name })));
  }

  it('refuses a damaged database', async () => {
    await fill();
    truncateSync(directory.file('data/plants.db'), 8_192);

    await expectFailure('is not a SQLite database, or is damaged; restore a backup or name another file');
  });

  it('refuses a database that another process keeps locked', async () => {
    await fill();
    directory.openDatabase().exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');

    await expectFailure('is locked by another process; stop it first');
  });
});
