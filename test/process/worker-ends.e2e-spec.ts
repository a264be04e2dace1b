import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { TOKEN } from '../support/client.js';
import { ask, newAgent, send } from '../support/connections.js';
import { storeFrom, violationsIn } from '../support/history.js';
import { occupyPort } from '../support/ports.js';
import { ServiceDirectory, type Variables, WITH_TOKEN } from '../support/service-directory.js';
import { inWorkers, killWorkers, withEachWorker } from '../support/workers.js';
import { Workload } from '../support/workload.js';
import { until } from '../support/until.js';

const TWO: Variables = { ...WITH_TOKEN, WORKERS: '2' };

const directory = ServiceDirectory.ofEachTest();

/** Returns how many requests the metrics count as successful. */
async function successesIn(management: string): Promise<number> {
  const text = await (await fetch(`${management}/metrics`)).text();
  return Number(/^plant_store_http_requests_total\{status="200",error=""\} (\d+)$/m.exec(text)?.[1]);
}

describe('A worker that is killed', () => {
  it('is replaced, and connections of the other one stay open', async () => {
    const { service, url } = await directory.start(TWO);
    const agents = [newAgent(), newAgent()];
    const [ofFirst, ofSecond] = agents;
    let opened = 0;
    await withEachWorker(service, async () => {
      const agent = agents[opened];
      const replies = await Promise.all([1, 2, 3].map((id) => send(url, TOKEN, id, agent)));
      expect(replies).toEqual(Array(3).fill({ result: 200, isReused: false }));
      opened += 1;
    });

    await killWorkers(service, service.workers().slice(0, 1));

    const kept = await Promise.all([1, 2, 3].map((id) => send(url, TOKEN, id, ofSecond)));
    expect(kept).toEqual(Array(3).fill({ result: 200, isReused: true }));
    const lost = await Promise.all([1, 2, 3].map((id) => send(url, TOKEN, id, ofFirst)));
    expect(lost).toEqual(Array(3).fill({ result: 200, isReused: false }));
    for (const agent of agents) agent.destroy();
    await until('there are two workers', () => service.workers().length === 2);
    expect(await service.stop()).toBe(0);
  });

  it('is not counted in the readiness, and its counters stay in the sums over all workers', async () => {
    const code = "while (existsSync('hold')) {}";
    const { service, url, management } = await directory.startManaged({ WORKERS: '2', ...inWorkers(code) });
    const count = (): Promise<number> => successesIn(management);
    const ready = async (): Promise<number> => (await fetch(`${management}/health/ready`)).status;
    for (let id = 1; id <= 5; id += 1) expect(await ask(url, TOKEN, id)).toBe(200);
    expect(await count()).toBe(5);

    directory.write('hold', '');
    await killWorkers(service, service.workers());
    const answer = await fetch(`${management}/health/ready`);
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({ error: { service: { message: 'no worker listens' } } });
    expect(await count()).toBe(5);

    rmSync(directory.file('hold'));
    await until('the service is ready', async () => (await ready()) === 200);
    expect(await ask(url, TOKEN, 6)).toBe(200);
    expect(await count()).toBe(6);
  });

  it('ends the service with status 1 when it cannot be replaced', async () => {
    const code = "if (existsSync('broken')) process.exit(7);";
    const { service, url } = await directory.start({ ...TWO, ...inWorkers(code) });
    const workload = new Workload(() => url, { token: TOKEN, clients: 16, seed: 2 });
    await workload.operations(100);

    directory.write('broken', '');
    await killWorkers(service, service.workers().slice(1));
    expect(await service.ended).toBe(1);
    await workload.stop();

    const fatal = service.lines.filter((line) => line.includes('"level":"fatal"'));
    expect(fatal).toEqual([expect.stringMatching(/its workers cannot start: worker \d+ ended with status 7"/)]);
    expect(violationsIn(workload.history, storeFrom(directory.rows()))).toEqual([]);
  });
});

describe('A service whose workers cannot start', () => {
  it('ends with status 1 and one line', async () => {
    const { status, complaint } = await directory.failedStart({ ...TWO, ...inWorkers('process.exit(7)') });

    expect(complaint).toMatch(/^plant-store: worker \d+ ended with status 7\n$/);
    expect(status).toBe(1);
  });

  it('ends with status 1 and the line of a worker when PORT is in use', async () => {
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
    const code = "while (existsSync('hold')) {}";
    const { service } = await directory.start({ ...TWO, SHUTDOWN_TIMEOUT: '60m', ...inWorkers(code) });
    directory.write('hold', '');
    await killWorkers(service, service.workers());

    service.signal('SIGTERM');
    await service.printed(/(Stopping after SIGTERM)/);
    rmSync(directory.file('hold'));

    expect(await service.ended).toBe(0);
    expect(service.lines.at(-1)).toContain('"message":"Stopped"');
  });
});
