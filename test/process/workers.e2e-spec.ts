import { create, CREATED, monstera, TOKEN } from '../support/client.js';
import { ask } from '../support/connections.js';
import { storeFrom, violationsIn } from '../support/history.js';
import { ServiceDirectory, type Variables, WITH_TOKEN } from '../support/service-directory.js';
import { onCores } from '../support/workers.js';
import { Workload } from '../support/workload.js';

const TWO: Variables = { ...WITH_TOKEN, WORKERS: '2' };

const directory = ServiceDirectory.ofEachTest();

describe('A service with WORKERS=auto', () => {
  it.each([
    ['three workers on three cores', 3, onCores(3)],
    ['one process and no worker on one core', 1, onCores(1)],
  ])('has %s', async (_what, cores, variables) => {
    const { service, url } = await directory.start({ ...WITH_TOKEN, WORKERS: 'auto', ...variables });

    expect(service.workers()).toHaveLength(cores === 1 ? 0 : cores);
    expect(await ask(url)).toBe(200);
    expect(await service.stop()).toBe(0);
  });
});

describe('A service with WORKERS=2', () => {
  it('has two workers, logs its start once and each request once, and ends with status 0', async () => {
    const { service, url } = await directory.start(TWO);
    expect(service.workers()).toHaveLength(2);
    for (let id = 1; id <= 5; id += 1) expect(await create(url, monstera(id))).toEqual(CREATED);

    expect(await service.stop()).toBe(0);

    expect(service.stderr).toBe('');
    const requests = service.lines.filter((line) => line.includes('"message":"request"'));
    expect([requests.length, service.lines.length]).toEqual([5, 9]);
    expect(directory.names()).toHaveLength(5);
  });

  it('accepts the token of the first start at once, and prints it once', async () => {
    const { service, url, token } = await directory.firstStart({ WORKERS: '2' });

    for (let id = 1; id <= 20; id += 1) expect(await ask(url, token, id)).toBe(200);
    expect(service.stderr.match(/^curl /gm)).toHaveLength(1);
  });

  it('acknowledges one content of each id, whichever worker gets it', async () => {
    const { service, url } = await directory.start(TWO);
    const workload = new Workload(() => url, { token: TOKEN, clients: 32, seed: 6 });
    await workload.operations(3_000);
    await workload.stop();

    expect(await service.stop()).toBe(0);
    expect(violationsIn(workload.history, storeFrom(directory.rows()))).toEqual([]);
    expect(workload.history.filter(({ outcome }) => outcome === 'ok').length).toBeGreaterThan(100);
  });

  it('refuses a database in memory, which its workers cannot share', async () => {
    const { status, complaint } = await directory.failedStart({ ...TWO, DATABASE_URL: 'sqlite::memory:' });

    expect(complaint).toBe('plant-store: WORKERS must be 1 with a database in memory, which processes cannot share\n');
    expect(status).toBe(2);
  });

  it('writes whole log lines to a pipe, even while their reader is slow', async () => {
    // A write to a full pipe may be in parts.
    const { service, url } = await directory.start(TWO, { wrapper: ['sh', '-c', '"$@" | cat', 'sh'] });
    const [primary = 0] = service.workers();
    try {
      service.holdOutput();
      const workload = new Workload(() => url, { token: TOKEN, clients: 64, seed: 1 });
      await workload.operations(3_000);
      await workload.stop();
    } finally {
      process.kill(primary, 'SIGTERM');
      service.releaseOutput();
    }

    expect(await service.ended).toBe(0);
    expect(service.lines.length).toBeGreaterThan(3_000);
    for (const line of service.lines) expect(JSON.parse(line)).toHaveProperty('message');
  });

  it('shares its file with another service and with data commands', async () => {
    const services = [await directory.start(TWO), await directory.start(TWO)];
    let turn = 0;
    const workload = new Workload(() => services[(turn += 1) % 2]?.url ?? '', { token: TOKEN, clients: 16, seed: 4 });
    await workload.operations(500);
    const commands = await Promise.all([
      directory.run('backup', ['backup.db']),
      directory.run('export', ['plants.ndjson']),
      directory.run('import', ['-'], {}, '{"id": -1, "name": "imported"}\n'),
    ]);
    await workload.operations(workload.history.length + 500);
    await workload.stop();

    expect(commands.map(({ status }) => status)).toEqual([0, 0, 0]);
    const [imported, ...created] = directory.rows();
    expect(imported).toMatchObject({ id: -1n, name: 'imported' });
    expect(violationsIn(workload.history, storeFrom(created))).toEqual([]);
    expect(await Promise.all(services.map(({ service }) => service.stop()))).toEqual([0, 0]);
  });
});
