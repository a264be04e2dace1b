import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { connect as connectWithTls } from 'node:tls';
import { create, CREATED, monstera, TOKEN } from '../support/client.js';
import { storeFrom, violationsIn } from '../support/history.js';
import { AUDIENCE, IdentityProvider, newKey } from '../support/identity-provider.js';
import { ServiceDirectory, type Variables, WITH_TOKEN } from '../support/service-directory.js';
import type { ServiceProcess } from '../support/service-process.js';
import { Workload } from '../support/workload.js';

const CERTIFICATES = join(import.meta.dirname, '../support/certificates');

const TWO: Variables = { ...WITH_TOKEN, WORKERS: '2' };

let directory: ServiceDirectory;

beforeEach(() => {
  directory = new ServiceDirectory();
});

afterEach(() => directory.remove());

/** Returns variables that run code of a test in each worker, before the service. */
function inWorkers(code: string): Variables {
  const condition = `import { existsSync } from 'node:fs'; if (process.argv[2] === 'worker') { ${code} }`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(condition)}` };
}

/** Kills workers, and waits until the service has noticed it. */
async function kill(service: ServiceProcess, workers: readonly number[]): Promise<void> {
  for (const pid of workers) process.kill(pid, 'SIGKILL');
  while (service.workers().some((pid) => workers.includes(pid))) await new Promise(setImmediate);
}

interface Reply {
  /** 200 or the error number; undefined without an answer. */
  readonly result: number | undefined;
  /** Whether the connection was open before. */
  readonly isReused: boolean;
}

/** Sends a request, by default on a connection of its own. */
function send(url: string, token: string, id: number, agent: Agent | false = false): Promise<Reply> {
  return new Promise((resolve) => {
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    const outgoing = request(`${url}/plants`, { method: 'POST', agent, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('end', () => {
        const result = (JSON.parse(text) as { error?: number }).error ?? response.statusCode;
        resolve({ result, isReused: outgoing.reusedSocket });
      });
    });
    outgoing.on('error', () => resolve({ result: undefined, isReused: outgoing.reusedSocket }));
    outgoing.end(JSON.stringify(monstera(id)));
  });
}

async function ask(url: string, token: string, id = 1): Promise<number | undefined> {
  return (await send(url, token, id)).result;
}

function newAgent(): Agent {
  return new Agent({ keepAlive: true, maxSockets: 1 });
}

/** Sends a request on the connection of each agent. */
function askAll(url: string, agents: readonly Agent[]): Promise<Reply[]> {
  return Promise.all(agents.map((agent, id) => send(url, TOKEN, id, agent)));
}

/** Calls until the result has been the expected one so many times in a row that each worker has given it. */
async function everywhere<Result>(expected: Result, call: () => Promise<Result>): Promise<void> {
  for (let times = 0; times < 20;) times = (await call()) === expected ? times + 1 : 0;
}

describe('A service with WORKERS=2', () => {
  it('logs its start once, lets two processes answer, and ends with status 0', async () => {
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

  it('uses a changed token file in all workers, and logs the change once', async () => {
    const { service, url, token } = await directory.firstStart({ WORKERS: '2' });

    directory.write('data/tokens', '# none\n');
    await everywhere(401, () => ask(url, token));

    expect(service.stdout.match(/number of tokens now: 0/g)).toHaveLength(1);
  });

  it('uses a changed certificate in all workers, and logs the change once', async () => {
    const install = (name: string): void => {
      for (const end of ['crt', 'key'])
        directory.write(end, readFileSync(join(CERTIFICATES, `${name}.${end}`), 'utf8'));
    };
    install('first');
    const { service, url } = await directory.start({ ...TWO, TLS_CERT_FILE: 'crt', TLS_KEY_FILE: 'key' });
    const fingerprint = async (): Promise<string> => {
      const socket = connectWithTls({ port: Number(new URL(url).port), rejectUnauthorized: false });
      await once(socket, 'secureConnect');
      const { fingerprint256 } = socket.getPeerCertificate();
      socket.destroy();
      return fingerprint256;
    };
    const first = await fingerprint();

    install('second');
    await everywhere(false, async () => (await fingerprint()) === first);

    expect(service.stdout.match(/The certificate has changed/g)).toHaveLength(1);
  });

  it('accepts the tokens of an identity provider', async () => {
    const provider = new IdentityProvider();
    await provider.start([await newKey('RS256', 'first')]);
    try {
      const issuer: Variables = { JWT_ISSUER: provider.issuer, JWT_AUDIENCE: AUDIENCE };
      const { url } = await directory.start({ ...TWO, ...issuer, JWT_JWKS_URL: `${provider.issuer}/jwks` });
      expect(await ask(url, await provider.token('plants:write'))).toBe(200);
    } finally {
      await provider.stop();
    }
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

  it('adds up what its processes count', async () => {
    const { url, management } = await directory.startManaged(TWO);
    const ids = Array.from({ length: 20 }, (_, index) => index);
    await Promise.all(ids.map((id) => ask(url, TOKEN, id)));
    await Promise.all(ids.map((id) => ask(url, TOKEN, id)));
    await Promise.all(ids.map((id) => ask(url, 'another', id)));

    const text = await (await fetch(`${management}/metrics`)).text();
    const value = (series: string): number =>
      Number(
        text
          .split('\n')
          .find((line) => line.startsWith(`${series} `))
          ?.slice(series.length + 1),
      );
    expect({
      created: value('plant_store_plants_total{outcome="created"}'),
      repeated: value('plant_store_plants_total{outcome="repeated"}'),
      successes: value('plant_store_http_requests_total{status="200",error=""}'),
      refusals: value('plant_store_authentication_failures_total{reason="unknown"}'),
      durations: value('plant_store_http_request_duration_seconds_count'),
      plants: value('plant_store_batch_size_plants_sum'),
      commits: value('plant_store_commit_duration_seconds_count'),
      waiting: value('plant_store_queue_depth_plants'),
    }).toEqual({
      created: 20,
      repeated: 20,
      successes: 40,
      refusals: 20,
      durations: 60,
      plants: 40,
      commits: value('plant_store_batch_size_plants_count'),
      waiting: 0,
    });
  });

  it('writes whole log lines to a file', async () => {
    const toFile = 'touch log; tail -f --pid=$$ log & exec "$@" >log';
    const { service, url } = await directory.start(TWO, { wrapper: ['sh', '-c', toFile, 'sh'] });
    const workload = new Workload(() => url, { token: TOKEN, clients: 64, seed: 5 });
    await workload.operations(3_000);
    await workload.stop();

    expect(await service.stop()).toBe(0);
    const lines = readFileSync(directory.file('log'), 'utf8').trimEnd().split('\n');
    expect(lines.length).toBeGreaterThan(3_000);
    for (const line of lines) expect(JSON.parse(line)).toHaveProperty('message');
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

  it('answers at most 2,048 requests of one client at a time, and the others with error 503', async () => {
    const { url } = await directory.start({ ...TWO, MAX_CONNECTIONS: '10000', STORE_TIMEOUT: '2m' });
    const other = directory.openDatabase();
    other.exec('BEGIN EXCLUSIVE');
    const answers: (number | undefined)[] = [];
    let refused = (): void => undefined;
    const someRefused = new Promise<void>((resolve) => (refused = resolve));
    const all = Array.from({ length: 2_200 }, async (_, id) => {
      answers.push(await ask(url, TOKEN, id));
      if (answers.length === 152) refused();
    });
    await someRefused;
    expect(new Set(answers)).toEqual(new Set([503]));
    other.close();
    await Promise.all(all);

    const stored = answers.filter((answer) => answer === 200).length;
    expect(answers.filter((answer) => answer === 503)).toHaveLength(2_200 - stored);
    expect(stored).toBeGreaterThanOrEqual(1_024);
    expect(directory.rows()).toHaveLength(stored);
  });
});

describe('A worker that is killed', () => {
  it('is replaced, and connections of the other one stay open', async () => {
    const { service, url } = await directory.start(TWO);
    const [first = 0, second = 0] = service.workers();
    const agents = { first: [0, 1, 2].map(newAgent), second: [3, 4, 5].map(newAgent) };
    // The one that is stopped accepts no connection.
    process.kill(second, 'SIGSTOP');
    const opened = await askAll(url, agents.first);
    process.kill(second, 'SIGCONT');
    process.kill(first, 'SIGSTOP');
    opened.push(...(await askAll(url, agents.second)));
    process.kill(first, 'SIGCONT');
    expect(opened).toEqual(Array(6).fill({ result: 200, isReused: false }));

    await kill(service, [first]);

    expect(await askAll(url, agents.second)).toEqual(Array(3).fill({ result: 200, isReused: true }));
    expect(await askAll(url, agents.first)).toEqual(Array(3).fill({ result: 200, isReused: false }));
    for (const agent of [...agents.first, ...agents.second]) agent.destroy();
    expect(await service.stop()).toBe(0);
  });

  it('is replaced on the same port when it was the last one', async () => {
    const { service, url } = await directory.start(TWO);

    await kill(service, service.workers());
    while ((await ask(url, TOKEN)) !== 200);

    expect(await service.stop()).toBe(0);
  });

  it('is not counted in the readiness, and its counters stay', async () => {
    const code = "while (existsSync('hold')) {}";
    const { service, url, management } = await directory.startManaged({ WORKERS: '2', ...inWorkers(code) });
    const count = async (): Promise<number> => {
      const text = await (await fetch(`${management}/metrics`)).text();
      return Number(/^plant_store_http_requests_total\{status="200",error=""\} (\d+)$/m.exec(text)?.[1]);
    };
    const ready = async (): Promise<number> => (await fetch(`${management}/health/ready`)).status;
    for (let id = 1; id <= 5; id += 1) expect(await ask(url, TOKEN, id)).toBe(200);
    expect(await count()).toBe(5);

    directory.write('hold', '');
    await kill(service, service.workers());
    const answer = await fetch(`${management}/health/ready`);
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({ error: { service: { message: 'no worker listens' } } });
    expect(await count()).toBe(5);

    rmSync(directory.file('hold'));
    while ((await ready()) !== 200);
    expect(await ask(url, TOKEN, 6)).toBe(200);
    expect(await count()).toBe(6);
  });

  it('ends the service with one line when it cannot start', async () => {
    const { status, complaint } = await directory.failedStart({ ...TWO, ...inWorkers('process.exit(7)') });

    expect(complaint).toMatch(/^plant-store: worker \d+ ended with status 7\n$/);
    expect(status).toBe(1);
  });

  it('ends the service with one line when another process listens on its port', async () => {
    const { url } = await directory.start();

    const { status, complaint } = await directory.failedStart({ ...TWO, PORT: new URL(url).port });

    expect(complaint).toMatch(/^plant-store: HOST and PORT: cannot listen on [^\n]+\n$/);
    expect(status).toBe(1);
  });

  it('ends the service with status 1 when it cannot be replaced', async () => {
    const code = "if (existsSync('broken')) process.exit(7);";
    const { service, url } = await directory.start({ ...TWO, ...inWorkers(code) });
    const workload = new Workload(() => url, { token: TOKEN, clients: 16, seed: 2 });
    await workload.operations(100);

    directory.write('broken', '');
    await kill(service, service.workers().slice(1));
    expect(await service.ended).toBe(1);
    await workload.stop();

    const fatal = service.lines.filter((line) => line.includes('"level":"fatal"'));
    expect(fatal).toEqual([expect.stringMatching(/its workers cannot start: worker \d+ ended with status 7"/)]);
    expect(violationsIn(workload.history, storeFrom(directory.rows()))).toEqual([]);
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
  it('to all processes at once lets requests in flight be answered', async () => {
    const { service, url } = await directory.start(TWO);
    const workload = new Workload(() => url, { token: TOKEN, clients: 16, seed: 3 });
    await workload.operations(200);

    for (const worker of service.workers()) process.kill(worker, 'SIGTERM');
    expect(await service.stop()).toBe(0);
    await workload.stop();

    expect(workload.cut).toBe(0);
    expect(violationsIn(workload.history, storeFrom(directory.rows()))).toEqual([]);
  });
});
