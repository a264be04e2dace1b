import { once } from 'node:events';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { create, CREATED, monstera, TOKEN } from '../support/client.js';
import { storeFrom, violationsIn } from '../support/history.js';
import { creation, plant } from '../support/http-messages.js';
import { ask, openRequest, RawClient } from '../support/raw-client.js';
import { occupyPort, reservePort } from '../support/ports.js';
import { ServiceDirectory, type Variables, WITH_TOKEN } from '../support/service-directory.js';
import type { ServiceProcess } from '../support/service-process.js';
import { line, put } from '../support/token-file.js';
import { until } from '../support/until.js';
import { HOLD, importing, inWorkers, killWorkers, onCores, withEachWorker } from '../support/workers.js';
import { Workload } from '../support/workload.js';

const TWO: Variables = { ...WITH_TOKEN, WORKERS: '2' };

/** The code of a worker that starts as long as there is a file `hold`. */
const HELD = inWorkers(HOLD);

/** The same for the workers behind the first one. */
const LATER_HELD = inWorkers(`if (cluster.worker.id > 1) ${HOLD}`);

const directory = ServiceDirectory.ofEachTest();

/** Stops a service, and expects that it answers the request in flight of a client, and ends with status 0. */
async function expectOrderlyStop(service: ServiceProcess, client: RawClient): Promise<void> {
  service.signal('SIGTERM');
  await service.printed(/(Stopping after SIGTERM)/);
  client.socket.write(plant(1));
  await client.answered(1);

  expect(client.answers).toEqual([200]);
  expect(await service.ended).toBe(0);
}

/** Returns the value of a series of the metrics. */
function valueOf(metrics: string, series: string): number {
  const line = metrics.split('\n').find((candidate) => candidate.startsWith(`${series} `));
  return Number(line?.slice(series.length));
}

describe('A service with WORKERS=auto', () => {
  it.each([
    ['two workers on two cores', 2, 2],
    ['one process and no worker on one core', 1, 0],
  ])('has %s', async (_what, cores, workers) => {
    const { service, url } = await directory.start({ ...WITH_TOKEN, WORKERS: 'auto', ...onCores(cores) });

    expect(service.workers()).toHaveLength(workers);
    expect(await ask(url)).toBe(200);
    expect(await service.stop()).toBe(0);
  });
});

describe('A service with WORKERS=1 that another cluster manager has forked', () => {
  /** Forks the program that it is given, as PM2 does in cluster mode. */
  const MANAGER = `
    const { default: cluster } = await import('node:cluster');
    cluster.setupPrimary({ exec: process.argv.at(-1), execArgv: [], args: [] });
    const worker = cluster.fork();
    worker.on('exit', (status) => process.exit(status));
    process.on('SIGTERM', () => worker.process.kill());`;

  it('is a whole service', async () => {
    const wrapper = [process.execPath, '--input-type=module', '-e', MANAGER, '--'];
    const { service, url, management } = await directory.startManaged({ WORKERS: '1' }, { wrapper });

    expect(await ask(url)).toBe(200);
    expect((await fetch(`${management}/health/ready`)).status).toBe(200);
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
    const messages = service.lines.map((line) => JSON.parse(line) as { message: string; worker?: number });
    const requests = messages.filter(({ message }) => message === 'request');
    expect(requests).toHaveLength(5);
    for (const { worker } of requests) expect([1, 2]).toContain(worker);
    const start = messages.filter(({ message }) => /^(?:Plant Store|Listening)/.test(message));
    expect(start.map(({ worker }) => worker)).toEqual([undefined, undefined]);
    expect(messages.at(-1)).toMatchObject({ message: 'Stopped' });
    expect(directory.names()).toHaveLength(5);
  });

  it('accepts the token of the first start in each worker, and prints it once', async () => {
    const { service, url, token } = await directory.firstStart({ WORKERS: '2' });

    await withEachWorker(service, () => until('the token is accepted', async () => (await ask(url, token)) === 200));
    expect(service.stderr.match(/^curl /gm)).toHaveLength(1);
  });

  it('refuses a database in memory, which its workers cannot share', async () => {
    const { status, complaint } = await directory.failedStart({ ...TWO, DATABASE_URL: 'sqlite::memory:' });

    expect(complaint).toBe('plant-store: WORKERS must be 1 with a database in memory, which processes cannot share\n');
    expect(status).toBe(2);
  });

  it('refuses PORT=0, because its workers need the same port', async () => {
    const { status, complaint } = await directory.failedStart({ ...TWO, PORT: '0' });

    expect(complaint).toMatch(/^plant-store: PORT must not be 0 with WORKERS, [^\n]+\n$/);
    expect(status).toBe(2);
  });

  it('shows sums over its workers, the next expiry, and the start of the primary in the metrics', async () => {
    const began = Date.now();
    const inAnHour = new Date(began + 3_600_000);
    put(`${directory.path}/tokens`, line('expiring', 'a-token-that-expires-in-an-hour', inAnHour));
    const variables = { WORKERS: '2', ACCESS_TOKENS_FILE: 'tokens' };
    const { service, url, management } = await directory.startManaged(variables);
    await withEachWorker(service, () => ask(url));

    const text = await (await fetch(`${management}/metrics`)).text();

    expect(valueOf(text, 'plant_store_plants_total{outcome="repeated"}')).toBe(1);
    expect(valueOf(text, 'plant_store_plants_total{outcome="created"}')).toBe(1);
    expect(valueOf(text, 'plant_store_http_requests_total{status="200",error=""}')).toBe(2);
    const expiry = valueOf(text, 'plant_store_token_expiry_seconds');
    expect(expiry).toBeGreaterThan(3_000);
    expect(expiry).toBeLessThanOrEqual(3_600);
    const start = valueOf(text, 'process_start_time_seconds');
    expect(start).toBeGreaterThan(began / 1_000 - 2);
    expect(start).toBeLessThanOrEqual(Date.now() / 1_000);
    // Each name once: Prometheus refuses a page with a metric that is declared twice.
    const names = [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name);
    expect(names).toHaveLength(new Set(names).size);
  });

  it('lets the docs page of its management listener create plants', async () => {
    const { service, url, management } = await directory.startManaged({ WORKERS: '2' });
    const headers = { Origin: management, 'Access-Control-Request-Method': 'POST' };

    const preflights = await withEachWorker(service, () => fetch(`${url}/plants`, { method: 'OPTIONS', headers }));

    expect(preflights.map(({ status }) => status)).toEqual([204, 204]);
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
    await workload.operations(300);
    const commands = await Promise.all([
      directory.run('backup', ['backup.db']),
      directory.run('export', ['plants.ndjson']),
      directory.run('import', ['-'], {}, '{"id": -1, "name": "imported"}\n'),
    ]);
    await workload.operations(workload.history.length + 300);
    await workload.stop();

    expect(commands.map(({ status }) => status)).toEqual([0, 0, 0]);
    const [imported, ...created] = directory.rows();
    expect(imported).toMatchObject({ id: -1n, name: 'imported' });
    expect(violationsIn(workload.history, storeFrom(created))).toEqual([]);
    expect(await Promise.all(services.map(({ service }) => service.stop()))).toEqual([0, 0]);
  });
});

describe('A worker that is killed', () => {
  it('is replaced, and connections of the other one stay open', async () => {
    const { service, url } = await directory.start(TWO);
    const clients = await withEachWorker(service, async () => {
      const client = await RawClient.open(url);
      expect(await client.ask(creation(1))).toBe(200);
      return client;
    });
    const [ofFirst, ofSecond] = clients;

    await killWorkers(service, service.workers().slice(0, 1));

    await ofFirst?.closed;
    expect(await ofSecond?.ask(creation(1))).toBe(200);
    expect(await ask(url, TOKEN, 2)).toBe(200);
    for (const { socket } of clients) socket.destroy();
    await until('there are two workers', () => service.workers().length === 2);
    expect(await service.stop()).toBe(0);
  });

  it('is not counted in the readiness, and its restart is counted in the metrics', async () => {
    const { service, url, management } = await directory.startManaged({ WORKERS: '2', ...HELD });
    const restarts = async (): Promise<number> =>
      valueOf(await (await fetch(`${management}/metrics`)).text(), 'plant_store_worker_restarts_total');
    expect(await restarts()).toBe(0);

    directory.write('hold', '');
    await killWorkers(service, service.workers());
    const end = 'has ended, and another one starts';
    await service.printed(new RegExp(`${end}[^]+(${end})`));
    const answer = await fetch(`${management}/health/ready`);
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({ error: { service: { message: 'no worker listens' } } });

    rmSync(directory.file('hold'));
    await until('the service is ready', async () => (await fetch(`${management}/health/ready`)).ok);
    expect(await ask(url, TOKEN, 6)).toBe(200);
    // Without an answer, until the new workers have loaded.
    await until('both restarts are counted', async () => (await restarts()) === 2);
    expect(service.workers()).toHaveLength(2);
  });

  it('is started again until it listens, while the other one serves', async () => {
    const broken = inWorkers("if (existsSync('broken')) process.exit(7);");
    const { service, url } = await directory.start({ ...TWO, ...broken });

    directory.write('broken', '');
    await killWorkers(service, service.workers().slice(1));
    await service.printed(/(Worker 3 has ended, and another one starts: status 7)/);
    const ends = service.lines.filter((line) => line.includes('and another one starts'));
    const times = ends.map((line) => JSON.parse(line) as { level: string; time: string });
    expect(times.map(({ level }) => level)).toEqual(['error', 'error']);
    const [second = NaN, third = NaN] = times.map(({ time }) => Date.parse(time));
    // Between them are a second, and the start of a process.
    expect(third - second).toBeGreaterThan(990);
    expect(third - second).toBeLessThan(10_000);
    expect(await ask(url)).toBe(200);

    rmSync(directory.file('broken'));
    await until('there are two workers', () => service.workers().length === 2);
    expect(await service.stop()).toBe(0);
  });
});

describe('A worker that ends while the files of the store are away', () => {
  const REASON = /(No worker starts for now: the database cannot store plants: [^"]+)/;

  it('is replaced when they are back, and no worker begins another store', async () => {
    const { service, url, management } = await directory.startManaged({ WORKERS: '2' });
    expect(await ask(url, TOKEN, 1)).toBe(200);

    renameSync(directory.file('data'), directory.file('moved'));
    await killWorkers(service, service.workers());
    await service.printed(REASON);
    expect(service.workers()).toEqual([]);
    expect(existsSync(directory.file('data'))).toBe(false);

    renameSync(directory.file('moved'), directory.file('data'));
    await until('the service is ready', async () => (await fetch(`${management}/health/ready`)).ok);
    expect(await ask(url, TOKEN, 1)).toBe(200);
    expect(directory.rows()).toHaveLength(1);
    expect(await service.stop()).toBe(0);
  });

  it('does not keep the service from its stop', async () => {
    const { service } = await directory.start(TWO);
    renameSync(directory.file('data'), directory.file('moved'));
    await killWorkers(service, service.workers());
    await service.printed(REASON);

    expect(await service.stop()).toBe(1);
    expect(service.lines.at(-1)).toContain('The service could not close in order');
    renameSync(directory.file('moved'), directory.file('data'));
  });
});

describe('A worker that ends while the token file is away', () => {
  it('is replaced when it is back, and the other one goes on serving', async () => {
    mkdirSync(directory.file('data'));
    put(directory.file('data/tokens'), line('laptop', TOKEN));
    const { service, url } = await directory.start({ WORKERS: '2' });

    renameSync(directory.file('data/tokens'), directory.file('moved'));
    await killWorkers(service, service.workers().slice(1));
    await service.printed(/(No worker starts for now: [^"]*data\/tokens)/);
    expect(service.workers()).toHaveLength(1);
    expect(await ask(url)).toBe(200);

    renameSync(directory.file('moved'), directory.file('data/tokens'));
    await until('there are two workers', () => service.workers().length === 2);
    expect(await withEachWorker(service, () => ask(url))).toEqual([200, 200]);
    expect(await service.stop()).toBe(0);
  });
});

describe('A worker that ends after a setting was changed', () => {
  it.each([
    ['WORKERS=2\nDATABASE_URL=sqlite:other.db\n', 'DATABASE_URL has changed: '],
    ['WORKERS=1\n', 'WORKERS has changed: '],
    ['WORKERS=2\nPORT\n', '.env, line 2, must be a variable'],
  ])('so that .env is %j is replaced when it is changed back', async (text, obstacle) => {
    directory.write('.env', 'WORKERS=2\n');
    const { service, url } = await directory.start({ ...WITH_TOKEN, WORKERS: '' });

    directory.write('.env', text);
    await killWorkers(service, service.workers().slice(1));
    await service.printed(/(No worker starts for now)/);
    expect(service.stdout).toContain(`No worker starts for now: ${obstacle}`);
    expect(service.workers()).toHaveLength(1);
    expect(await ask(url)).toBe(200);
    expect(existsSync(directory.file('other.db'))).toBe(false);

    directory.write('.env', 'WORKERS=2\n');
    await until('there are two workers', () => service.workers().length === 2);
    expect(await withEachWorker(service, () => ask(url))).toEqual([200, 200]);
    expect(await service.stop()).toBe(0);
  });
});

describe('A worker that is killed while its service stops', () => {
  it('lets the service say so, and end with status 1', async () => {
    const { service, url } = await directory.start(TWO);
    const client = await openRequest(url);

    service.signal('SIGTERM');
    await service.printed(/(Stopping after SIGTERM)/);
    for (const worker of service.workers()) process.kill(worker, 'SIGKILL');

    expect(await service.ended).toBe(1);
    expect(service.lines.at(-1)).toContain(
      'The service could not close in order: Error: a worker could not close: SIGKILL',
    );
    client.socket.destroy();
  });
});

describe('A worker that has ended before its service stops', () => {
  it('is not replaced, however long the stop takes', async () => {
    const { service, url } = await directory.start({ ...TWO, SHUTDOWN_TIMEOUT: '60m' });
    const [first = 0, second = 0] = service.workers();
    const [client] = await withEachWorker(service, () => openRequest(url));
    await killWorkers(service, [second]);
    const ended = performance.now();
    service.signal('SIGTERM');
    await service.printed(/(Stopping after SIGTERM)/);

    // A worker is replaced after a second.
    await until('the time of a replacement is over', () => performance.now() - ended > 2_000);
    expect(service.workers()).toEqual([first]);
    client?.socket.write(plant(1));
    await client?.answered(1);
    expect(await service.ended).toBe(0);
  });
});

describe('A worker that its primary cannot reach while the service stops', () => {
  it('does not keep a request in flight from its answer', async () => {
    const unreachable = importing(
      "import cluster from 'node:cluster'; if (cluster.isPrimary) process.on('SIGTERM', () => setImmediate(() =>" +
        "Object.values(cluster.workers)[0].emit('error', new Error('write EPIPE'))));",
    );
    const { service, url } = await directory.start({ ...TWO, ...unreachable });
    const client = await openRequest(url);

    await expectOrderlyStop(service, client);
  });
});

describe('A service whose workers cannot start', () => {
  it('ends with status 1 and the line of a worker', async () => {
    const taken = await occupyPort();
    const { status, complaint } = await directory.failedStart({ ...TWO, PORT: `${taken.port}` });
    taken.free();

    expect(complaint).toMatch(
      /^plant-store: HOST and PORT: cannot listen on [^\n]+ is the service already running[^\n]+\n$/,
    );
    expect(status).toBe(1);
  });
});

describe('A first worker that is killed while it starts', () => {
  it('ends the service with status 1', async () => {
    directory.write('hold', '');
    const service = directory.launch({ ...TWO, ...HELD });
    await until('there is a worker', () => service.workers().length === 1);

    await killWorkers(service, service.workers());

    expect(await service.ended).toBe(1);
    expect(service.stdout).toMatch(/"level":"error".*"The first worker has ended with SIGKILL before it listened"/);
  });
});

describe('A worker that no longer reacts', () => {
  // The output ends with the last process that has it open.
  it('ends with its service after SHUTDOWN_TIMEOUT', async () => {
    const { service, management } = await directory.startManaged({ WORKERS: '2', SHUTDOWN_TIMEOUT: '1s' });
    process.kill(service.workers()[0] ?? 0, 'SIGSTOP');
    // After five seconds.
    const metrics = await (await fetch(`${management}/metrics`)).text();
    expect(metrics).toMatch(/^# The metrics of the workers are missing: /);
    expect(valueOf(metrics, 'plant_store_ready{check="service"}')).toBe(1);
    expect(valueOf(metrics, 'plant_store_worker_restarts_total')).toBe(0);
    expect((await fetch(`${management}/health/ready`)).status).toBe(200);

    expect(await service.stop()).toBe(0);
    expect(service.lines.at(-1)).toMatch(
      /"level":"warn".*Stopped after SHUTDOWN_TIMEOUT: requests in flight may have no answer/,
    );
  });
});

describe('The primary that is killed', () => {
  it('takes its workers with it', async () => {
    const { service } = await directory.start(TWO);

    // The output ends with the last process that has it open.
    expect(await service.stop('SIGKILL')).toBeNull();
  });

  it('is one line of a worker that is about to listen', async () => {
    const waiting = inWorkers(
      "const { Server } = await import('node:net'); const { listen } = Server.prototype;" +
        "Server.prototype.listen = function (...parameters) { console.error('waits');" +
        `${HOLD} return listen.apply(this, parameters); };`,
    );
    directory.write('hold', '');
    const service = directory.launch({ ...TWO, ...waiting });
    await service.printed(/^(waits)$/m);

    const ends = once(service.child, 'exit');
    service.signal('SIGKILL');
    await ends;
    rmSync(directory.file('hold'));

    expect(await service.ended).toBeNull();
    expect(service.stderr).toBe('waits\nplant-store: the worker cannot reach its primary: write EPIPE\n');
  });
});

describe('A worker that ends while it starts', () => {
  it('is replaced, and the service says that it is up when the replacement listens', async () => {
    // With a time limit for the start of workers that is never reached.
    const broken = importing(
      "import cluster from 'node:cluster'; const { timeout } = AbortSignal;" +
        'AbortSignal.timeout = (time) => timeout.call(AbortSignal, 1000 * time);' +
        'if (cluster.worker?.id === 2) process.exit(7);',
    );

    const { service, url } = await directory.start({ ...TWO, ...broken });

    expect(service.stdout).toContain('Worker 2 has ended, and another one starts: status 7');
    expect(service.workers()).toHaveLength(2);
    expect(await withEachWorker(service, () => ask(url))).toEqual([200, 200]);
    expect(await service.stop()).toBe(0);
  });
});

describe('A worker that hangs while it starts', () => {
  it('does not keep the service from saying that it is up', async () => {
    directory.write('hold', '');

    // After five seconds.
    const { service, url } = await directory.start({ ...TWO, ...LATER_HELD });

    expect(service.stdout).toMatch(/"level":"warn".*"Workers that listen: 1 of 2; the others still start"/);
    expect(await ask(url)).toBe(200);
    rmSync(directory.file('hold'));
    await until('the second worker listens', async () => (await withEachWorker(service, () => ask(url))).length === 2);
    expect(await service.stop()).toBe(0);
  });
});

describe('A signal', () => {
  it('to all processes at once, such as Ctrl+C, lets a request in flight be answered', async () => {
    const { service, url } = await directory.start(TWO);
    const client = await openRequest(url);

    const stopping = (count: number) => () => service.stdout.split('Stopping after SIGINT').length === 1 + count;
    // Two signals that wait for a process at the same time would be one.
    for (const worker of service.workers()) process.kill(worker, 'SIGINT');
    await until('each worker stops', stopping(2));
    service.signal('SIGINT');
    await until('the primary stops, too, and has passed the signal on', stopping(3));
    client.socket.write(plant(1));
    await client.answered(1);

    expect(client.answers).toEqual([200]);
    expect(await service.ended).toBe(0);
  });

  it('while later workers start lets a request in flight be answered', async () => {
    directory.write('hold', '');
    const reserved = reservePort();
    const service = directory.launch({ ...TWO, PORT: `${reserved.port}`, ...LATER_HELD });
    const url = `http://127.0.0.1:${reserved.port}`;
    await until('the first worker listens', async () => (await ask(url, TOKEN, 2).catch(() => 0)) === 200);
    const client = await openRequest(url);

    await expectOrderlyStop(service, client);
    expect(service.stdout).not.toContain('Listening');
    reserved.free();
  });

  it('ends a service at once whose workers are starting', async () => {
    const { service } = await directory.start({ ...TWO, SHUTDOWN_TIMEOUT: '60m', ...HELD });
    directory.write('hold', '');
    await killWorkers(service, service.workers());

    service.signal('SIGTERM');
    await service.printed(/(Stopping after SIGTERM)/);
    rmSync(directory.file('hold'));

    expect(await service.ended).toBe(0);
    expect(service.lines.at(-1)).toContain('"message":"Stopped"');
  });
});
