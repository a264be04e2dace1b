import { existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { CREATED, create, created, MONSTERA, monstera, refusal, TOKEN } from '../support/client.js';
import { storeFrom, violationsIn } from '../support/history.js';
import { NodeProcess } from '../support/node-process.js';
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
      expect.stringMatching(/^Plants refused with 503: 1; the database did not confirm the plants: /),
      expect.stringMatching(/^Plants refused with 503: 1; the database did not confirm the plants: /),
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
    await service.printed(/(database disk image is malformed; restore a backup or name another file)/);
  });
});

describe('A file of the database that is removed', () => {
  it.each(['wal', 'shm'])('ends creates for good, and a stop keeps what other processes add: -%s', async (ending) => {
    const { service, url } = await directory.start();
    expect(await create(url)).toEqual(CREATED);
    const other = directory.openDatabase();
    other.exec('PRAGMA wal_checkpoint(PASSIVE)');
    other.close();

    rmSync(directory.file(`data/plants.db-${ending}`));
    expect(await create(url, monstera(2))).toEqual(refusal(503));
    const added = Array.from({ length: 200 }, (_, index) => JSON.stringify(monstera(1_000 + index)));
    expect(await directory.run('import', ['-'], {}, added.join('\n'))).toMatchObject({ status: 0 });

    expect(await create(url, monstera(2))).toEqual(refusal(503));
    expect(await service.stop()).toBe(1);
    expect(service.lines.join()).toContain(
      'The service could not close in order: RepositoryUnavailableError: the database cannot be',
    );
    // Nest logs the error, too, without a context.
    expect(service.lines.join()).toContain('"stack":"RepositoryUnavailableError: ');
    expect(service.lines.join()).not.toMatch(/"context":"[^"]*\\n/);
    expect(ids()).toHaveLength(201);
  });
});

describe('A program that ends by itself', () => {
  it('leaves a database open whose files are not in place', async () => {
    const file = directory.file('plants.db');
    const program = new NodeProcess([
      '--input-type=module',
      '--eval',
      `import { truncateSync } from 'node:fs';
      import { openRepository } from '${pathToFileURL('dist/storage/engines.js').href}';
      const repository = await openRepository('sqlite:${file}');
      truncateSync('${file}-shm');
      await repository.close().catch((error) => console.log(error.name));`,
    ]);

    // To read the emptied index is a signal.
    expect(await program.ended).toBe(0);
    expect(program.stdout).toBe('RepositoryUnavailableError\n');
    expect(existsSync(`${file}-wal`)).toBe(true);
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
  it('that waits for the lock of another process says so, and ends at a signal', async () => {
    await directory.store([]);
    const other = directory.openDatabase();
    other.exec('BEGIN EXCLUSIVE');
    const service = directory.launch(WITH_TOKEN);
    await service.printed(
      /(The start waits for the database: .+ database is locked; stop the other process that uses it)/,
    );

    expect(await service.stop()).toBe(0);
    other.close();
  });

  it('refuses a database that is damaged', async () => {
    await directory.store([]);
    directory.fill(1_000);
    truncateSync(directory.file('data/plants.db'), 8_192);

    expect(await directory.failedStart(WITH_TOKEN)).toEqual({
      status: 1,
      complaint:
        'plant-store: the database data/plants.db cannot be used: database disk image is malformed; ' +
        'restore a backup or name another file\n',
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
