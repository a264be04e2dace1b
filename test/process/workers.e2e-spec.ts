import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { create, CREATED, monstera, TOKEN } from '../support/client.js';
import { ask, newAgent, send } from '../support/connections.js';
import { storeFrom, violationsIn } from '../support/history.js';
import { occupyPort } from '../support/ports.js';
import { ServiceDirectory, type Variables, WITH_TOKEN } from '../support/service-directory.js';
import { until } from '../support/until.js';
import { inWorkers, killWorkers, onCores, withEachWorker } from '../support/workers.js';
import { Workload } from '../support/workload.js';

const TWO: Variables = { ...WITH_TOKEN, WORKERS: '2' };

/** The code of a worker that starts as long as there is a file `hold`. */
const HELD = inWorkers("while (existsSync('hold')) {}");

const directory = ServiceDirectory.ofEachTest();

/** Returns how many requests the metrics count as successful. */
async function successesIn(management: string): Promise<number> {
  const text = await (await fetch(`${management}/metrics`)).text();
  return Number(/^plant_store_http_requests_total\{status="200",error=""\} (\d+)$/m.exec(text)?.[1]);
}

describe('A service with WORKERS=auto', () => {
  it.each([
    ['three workers on three cores', 3, 3],
    ['one process and no worker on one core', 1, 0],
  ])('has %s', async (_what, cores, workers) => {
    const { service, url } = await directory.start({ ...WITH_TOKEN, WORKERS: 'auto', ...onCores(cores) });

    expect(service.workers()).toHaveLength(workers);
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

describe('A worker that is killed', () => {
  it('is replaced, and connections of the other one stay open', async () => {
    const { service, url } = await directory.start(TWO);
    const agents = [newAgent(), newAgent()];
    const [ofFirst, ofSecond] = agents;
    let opened = 0;
    await withEachWorker(service, async () => {
      expect(await send(url, TOKEN, opened, agents[opened])).toEqual({ result: 200, isReused: false });
      opened += 1;
    });

    await killWorkers(service, service.workers().slice(0, 1));

    await until('the client knows of its end', () => Object.keys(ofFirst?.freeSockets ?? {}).length === 0);
    expect(await send(url, TOKEN, 2, ofSecond)).toEqual({ result: 200, isReused: true });
    expect(await send(url, TOKEN, 3, ofFirst)).toEqual({ result: 200, isReused: false });
    for (const agent of agents) agent.destroy();
    await until('there are two workers', () => service.workers().length === 2);
    expect(await service.stop()).toBe(0);
  });

  it('is not counted in the readiness, and its counters stay in the sums over all workers', async () => {
    const { service, url, management } = await directory.startManaged({ WORKERS: '2', ...HELD });
    for (let id = 1; id <= 5; id += 1) expect(await ask(url, TOKEN, id)).toBe(200);
    expect(await successesIn(management)).toBe(5);

    directory.write('hold', '');
    await killWorkers(service, service.workers());
    const answer = await fetch(`${management}/health/ready`);
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({ error: { service: { message: 'no worker listens' } } });
    expect(await successesIn(management)).toBe(5);

    rmSync(directory.file('hold'));
    await until('the service is ready', async () => (await fetch(`${management}/health/ready`)).ok);
    expect(await ask(url, TOKEN, 6)).toBe(200);
    expect(await successesIn(management)).toBe(6);
  });

  it('ends the service with status 1 when it cannot be replaced', async () => {
    const broken = inWorkers("if (existsSync('broken')) process.exit(7);");
    const { service } = await directory.start({ ...TWO, ...broken });

    directory.write('broken', '');
    await killWorkers(service, service.workers().slice(1));

    expect(await service.ended).toBe(1);
    const fatal = service.lines.filter((line) => line.includes('"level":"fatal"'));
    expect(fatal).toEqual([expect.stringMatching(/its workers cannot start: worker \d+ ended with status 7"/)]);
  });
});

describe('A service whose workers cannot start', () => {
  it('ends with status 1 and the line of a worker', async () => {
    const taken = await occupyPort();
    const { status, complaint } = await directory.failedStart({ ...TWO, PORT: `${taken.port}` });
    taken.free();

    expect(complaint).toMatch(/^plant-store: HOST and PORT: cannot listen on [^\n]+\n$/);
    expect(status).toBe(1);
  });
});

describe('A worker that no longer reacts', () => {
  // The output ends with the last process that has it open.
  it('ends with its service after SHUTDOWN_TIMEOUT', async () => {
    const { service } = await directory.start({ ...TWO, SHUTDOWN_TIMEOUT: '1s' });
    process.kill(service.workers()[0] ?? 0, 'SIGSTOP');

    expect(await service.stop()).toBe(0);
    expect(service.lines.at(-1)).toContain('Stopped after SHUTDOWN_TIMEOUT: requests in flight have no answer');
  });

  it('counts in the metrics with its last values', async () => {
    const { service, url, management } = await directory.startManaged({ WORKERS: '2' });
    for (let id = 1; id <= 5; id += 1) expect(await ask(url, TOKEN, id)).toBe(200);
    expect(await successesIn(management)).toBe(5);

    const workers = service.workers();
    for (const worker of workers) process.kill(worker, 'SIGSTOP');
    try {
      expect(await successesIn(management)).toBe(5);
    } finally {
      for (const worker of workers) process.kill(worker, 'SIGCONT');
    }
  });
});

describe('The primary that is killed', () => {
  it('takes its workers with it', async () => {
    const { service } = await directory.start(TWO);

    // The output ends with the last process that has it open.
    expect(await service.stop('SIGKILL')).toBeNull();
  });
});

describe('A signal', () => {
  it('to all processes at once lets a request in flight be answered', async () => {
    const { service, url } = await directory.start(TWO);
    const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json', Expect: '100-continue' };
    const outgoing = request(`${url}/plants`, { method: 'POST', agent: false, headers });
    outgoing.flushHeaders();
    await once(outgoing, 'continue');

    for (const worker of service.workers()) process.kill(worker, 'SIGTERM');
    service.signal('SIGTERM');
    await service.printed(/(Stopping after SIGTERM)/);
    outgoing.end('{"id": 1, "name": "Ficus"}');
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    response.resume();

    expect(response.statusCode).toBe(200);
    expect(await service.ended).toBe(0);
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
