import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect as connectWithTls } from 'node:tls';
import { create, CREATED, monstera, SECOND_TOKEN, TOKEN } from '../support/client.js';
import { ask, newAgent, send } from '../support/connections.js';
import { storeFrom, violationsIn } from '../support/history.js';
import { AUDIENCE, IdentityProvider, newKey } from '../support/identity-provider.js';
import { ServiceDirectory, type Variables, WITH_TOKEN } from '../support/service-directory.js';
import { line, put } from '../support/token-file.js';
import { onCores, withEachWorker } from '../support/workers.js';
import { Workload } from '../support/workload.js';

const CERTIFICATES = join(import.meta.dirname, '../support/certificates');

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

  it('uses a changed token file in each worker, on connections that were open before, and each logs the change', async () => {
    const file = directory.write('tokens', line('first', TOKEN));
    const variables = { WORKERS: '2', ACCESS_TOKENS_FILE: file };
    const { service, url } = await directory.start(variables);
    const agents = await withEachWorker(service, async () => {
      const agent = newAgent();
      expect(await send(url, TOKEN, 1, agent)).toEqual({ result: 200, isReused: false });
      return agent;
    });

    put(file, line('second', SECOND_TOKEN));
    for (const agent of agents) {
      const results = new Set<number | undefined>();
      for (let reply = await send(url, TOKEN, 1, agent); ; reply = await send(url, TOKEN, 1, agent)) {
        expect(reply.isReused).toBe(true);
        results.add(reply.result);
        if (reply.result !== 200) break;
      }
      expect([...results].at(-1)).toBe(401);
      agent.destroy();
    }
    expect(await withEachWorker(service, () => ask(url, SECOND_TOKEN))).toEqual([200, 200]);

    await service.stop();
    expect(service.stdout.match(/number of tokens now: 1/g)).toHaveLength(2);
  });

  it('uses a changed certificate in each worker, and each logs the change', async () => {
    const install = (name: string): void => {
      for (const end of ['crt', 'key']) {
        directory.write(end, readFileSync(join(CERTIFICATES, `${name}.${end}`), 'utf8'));
      }
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
    const [first = '', other] = await withEachWorker(service, fingerprint);
    expect(other).toBe(first);

    install('second');
    const [second, same] = await withEachWorker(service, async () => {
      let current = first;
      while (current === first) current = await fingerprint();
      return current;
    });

    expect(same).toBe(second);
    await service.stop();
    expect(service.stdout.match(/The certificate has changed/g)).toHaveLength(2);
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
