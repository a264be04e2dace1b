import { once } from 'node:events';
import { readFileSync, renameSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { parse } from 'yaml';
import { ManagedService, type Page } from '../support/managed-service.js';
import { TOKEN } from '../support/service.js';
import { openSqliteFile, type SqliteFile } from '../support/sqlite-file.js';

let service: ManagedService;

beforeEach(async () => {
  service = await ManagedService.start();
});

afterEach(() => service.stop('SIGKILL'));

/** The first answer with this status; others before it are those that are still good for a moment. */
async function readiness(status: number): Promise<Record<string, unknown>> {
  let page: Page;
  do page = await service.get('/health/ready');
  while (page.status !== status);
  return JSON.parse(page.text) as Record<string, unknown>;
}

function openDatabase(): SqliteFile {
  return openSqliteFile(join(service.directory, 'data/plants.db'));
}

describe('GET /health/live', () => {
  it('answers 200, whatever the store is like', async () => {
    renameSync(join(service.directory, 'data'), join(service.directory, 'elsewhere'));

    expect(await service.get('/health/live')).toMatchObject({ status: 200, type: 'application/json; charset=utf-8' });
  });
});

describe('GET /health/ready', () => {
  it('answers 200 where the store takes plants, and leaves nothing in it', async () => {
    expect(await readiness(200)).toMatchObject({ status: 'ok', details: { service: { status: 'up' } } });

    const database = openDatabase();
    expect(database.all('SELECT * FROM plants')).toEqual([]);
    database.close();
  });

  it('answers 503 and names the store while another process locks it, and then 200 again', async () => {
    const other = openDatabase();
    other.exec('BEGIN EXCLUSIVE');

    expect(await readiness(503)).toMatchObject({
      error: {
        store: { status: 'down', message: expect.stringMatching(/^the database cannot store plants: /) as unknown },
      },
    });
    other.close();

    expect(await readiness(200)).toMatchObject({ error: {} });
  });

  it('answers 503 and names the store where its directory is gone', async () => {
    renameSync(join(service.directory, 'data'), join(service.directory, 'elsewhere'));

    expect(await readiness(503)).toMatchObject({ error: { store: { status: 'down' } } });
  });

  it('keeps no plant waiting, however often it is asked', async () => {
    let asking = true;
    const probes = Array.from({ length: 8 }, async () => {
      while (asking) expect(await service.get('/health/ready')).toMatchObject({ status: 200 });
    });
    for (let id = 1; id <= 50; id += 1) expect((await service.create({ id, name: 'Ficus' })).status).toBe(200);
    asking = false;
    await Promise.all(probes);
  });

  it('answers 503 from SIGTERM until the last request is answered, and the service ends with status 0', async () => {
    const { hostname, port } = new URL(service.url);
    const client = connect(Number(port), hostname);
    client.write(
      `POST /plants HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\n` +
        'Content-Type: application/json\r\nContent-Length: 23\r\nExpect: 100-continue\r\n\r\n',
    );
    // With "100 Continue" the service has accepted the request.
    await once(client, 'data');

    const signalled = performance.now();
    service.process.signal('SIGTERM');
    expect(await readiness(503)).toMatchObject({
      error: { service: { status: 'down', message: 'it is shutting down' } },
    });
    const notReady = performance.now();
    await expect(fetch(service.url)).rejects.toThrow();
    expect(await service.get('/health/live')).toMatchObject({ status: 200 });

    client.write('{"id":1,"name":"Ficus"}');
    const answered = performance.now();
    expect(await service.process.ended).toBe(0);
    console.info(
      `${(notReady - signalled).toFixed(0)} ms from SIGTERM to not ready,`,
      `${(performance.now() - answered).toFixed(0)} ms from the last request to the end`,
    );
  });
});

describe('GET /metrics', () => {
  /** The value of a series, 0 where it is not there. */
  async function value(series: string): Promise<number> {
    const { text } = await service.get('/metrics');
    const line = text.split('\n').find((candidate) => candidate.startsWith(`${series} `));
    return Number(line?.slice(series.length + 1) ?? 0);
  }

  it('is in the text format of Prometheus', async () => {
    expect(await service.get('/metrics')).toMatchObject({
      status: 200,
      type: 'text/plain; version=0.0.4; charset=utf-8',
      text: expect.stringMatching(/^(?:# (?:HELP|TYPE) \S+ .+\n|[\w:]+(?:\{.*\})? \S+\n|\n)+$/) as unknown,
    });
  });

  it('counts answers, plants, batches and refusals', async () => {
    await service.create({ id: 1, name: 'Monstera' });
    await service.create({ id: 1, name: 'Monstera' });
    await service.create({ id: 1, name: 'Ficus' });
    await service.create({ id: 2, name: 'Ficus' }, { Authorization: 'Bearer another' });
    await fetch(service.url);
    await fetch(service.url, {
      method: 'OPTIONS',
      headers: { Origin: service.management, 'Access-Control-Request-Method': 'POST' },
    });

    const counted = {
      created: await value('plant_store_plants_total{outcome="created"}'),
      repeated: await value('plant_store_plants_total{outcome="repeated"}'),
      conflict: await value('plant_store_plants_total{outcome="conflict"}'),
      successes: await value('plant_store_http_requests_total{status="200",error=""}'),
      preflights: await value('plant_store_http_requests_total{status="204",error=""}'),
      conflicts: await value('plant_store_http_requests_total{status="400",error="409"}'),
      refusals: await value('plant_store_http_requests_total{status="400",error="401"}'),
      missing: await value('plant_store_authentication_failures_total{reason="missing"}'),
      durations: await value('plant_store_http_request_duration_seconds_count'),
      batches: await value('plant_store_batch_size_plants_count'),
      plants: await value('plant_store_batch_size_plants_sum'),
      commits: await value('plant_store_commit_duration_seconds_count'),
      waiting: await value('plant_store_queue_depth_plants'),
    };

    expect(counted).toEqual({
      created: 1,
      repeated: 1,
      conflict: 1,
      successes: 2,
      preflights: 1,
      conflicts: 1,
      refusals: 2,
      missing: 1,
      durations: 6,
      batches: 3,
      plants: 3,
      commits: 3,
      waiting: 0,
    });
  });

  it('has no more series after whatever clients send', async () => {
    const series = async (): Promise<string[]> =>
      [...(await service.get('/metrics')).text.matchAll(/^plant_store_\S+/gm)].map(([name]) => name);
    await fetch(service.url);
    await service.create({}, { Authorization: 'Bearer another' });
    const before = await series();

    for (let turn = 0; turn < 20; turn += 1) {
      await fetch(`${service.url}/${turn}?${turn}`, {
        method: ['GET', 'PUT', 'PROPFIND'][turn % 3] ?? 'GET',
        headers: {
          Authorization: `Bearer ${turn % 2 === 0 ? TOKEN : turn}`,
          'X-Request-Id': `${turn}`,
          'User-Agent': `${turn}`,
        },
      });
      await service.create({ id: turn, name: `${turn}` }, { 'Content-Type': `text/${turn}` });
    }

    expect(await series()).toEqual(before);
  });
});

describe('GET /openapi.json', () => {
  it('is contract/openapi.yaml, with the address of the public port', async () => {
    const contract = parse(readFileSync(join(import.meta.dirname, '../../contract/openapi.yaml'), 'utf8')) as object;
    const { status, text } = await service.get('/openapi.json');

    expect(status).toBe(200);
    expect(JSON.parse(text)).toEqual({ ...contract, servers: [{ url: service.url }] });
  });
});

describe('The management listener', () => {
  it('has the ordinary statuses for what it does not have', async () => {
    expect((await service.get('/plants')).status).toBe(404);
  });

  it('has nothing on the public port', async () => {
    const response = await fetch(`${service.url}/health/live`, { headers: { Authorization: `Bearer ${TOKEN}` } });

    expect(await response.json()).toMatchObject({ error: 404 });
  });

  it('keeps no service from its end that is asked on a connection which stays open', async () => {
    await service.get('/metrics');

    expect(await service.process.stop()).toBe(0);
  });
});
