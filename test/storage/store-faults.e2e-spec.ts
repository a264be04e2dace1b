/**
 * What the service promises while something is wrong with the SQLite file: 503, nothing lost, and one line in the log.
 */
import { renameSync, truncateSync } from 'node:fs';
import { CREATED, create, created, MONSTERA, monstera, refusal } from '../support/client.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';

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
    expect(messages.filter((message) => /refused|again/.test(message))).toEqual([
      expect.stringMatching(/^Plants refused with 503: the database cannot be used: /),
      'The store takes plants again',
    ]);
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
      `Plants refused with 503: the database ${log} was removed or replaced: put it back with mv. If it was copied back, ` +
        'stop all services of this file, and start them. To use another file, such as a backup: stop all services, ' +
        `move ${log}-wal and ${log}-shm away, and start them`,
    );
    expect(await service.stop()).toBe(0);
    for (const file of ['plants.db-wal', 'plants.db-shm']) {
      renameSync(directory.file(`data/${file}`), directory.file(file));
    }
    const next = await directory.start();

    expect(await create(next.url, monstera(6))).toEqual(CREATED);
    expect(ids()).toEqual([1, 6]);
  });
});

describe('Several processes on one file', () => {
  it('start at the same time in an empty directory', async () => {
    const services = await Promise.all(Array.from({ length: 3 }, () => directory.start()));

    for (const { url } of services) expect(await create(url)).toEqual(CREATED);
    expect(ids()).toEqual([1]);
  });

  it('wait up to STORE_TIMEOUT for a lock, and answer other requests meanwhile', async () => {
    const [patient, impatient] = await Promise.all([
      directory.start({ ...WITH_TOKEN, STORE_TIMEOUT: '2m' }),
      directory.start({ ...WITH_TOKEN, STORE_TIMEOUT: '500ms' }),
    ]);
    const other = directory.openDatabase();
    other.exec('BEGIN EXCLUSIVE');

    expect(await create(impatient.url, monstera(2))).toEqual(refusal(503));
    const waiting = create(patient.url);
    const before = performance.now();
    for (let requests = 0; requests < 5; requests += 1) {
      expect(await create(patient.url, MONSTERA, 'wrong')).toEqual(refusal(401));
    }
    // A process that waits inside SQLite answers once in five seconds.
    expect(performance.now() - before).toBeLessThan(10_000);
    other.close();

    expect(await waiting).toEqual(CREATED);
    expect(ids()).toEqual([1]);
  });
});

describe('A start', () => {
  it.each([
    [
      'is damaged',
      'database disk image is malformed',
      () => {
        directory.fill(1_000);
        truncateSync(directory.file('data/plants.db'), 8_192);
      },
    ],
    [
      'another process keeps locked',
      'database is locked; stop the other process that uses it',
      () => directory.openDatabase().exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE'),
    ],
  ])('refuses a database that %s', async (_, reason, spoil) => {
    await directory.store([]);
    spoil();

    expect(await directory.failedStart(WITH_TOKEN)).toEqual({
      status: 1,
      complaint: `plant-store: the database data/plants.db cannot be used: ${reason}\n`,
    });
  });
});
