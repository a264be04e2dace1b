/** The management listener: health, metrics and the contract. */
import { X509Certificate } from 'node:crypto';
import { parse } from 'yaml';
import { readVersion } from '../../src/process/version.js';
import { installCertificate, readPem } from '../support/certificates.js';
import { create, SECOND_TOKEN } from '../support/client.js';
import { plant } from '../support/http-messages.js';
import { openRequest } from '../support/raw-client.js';
import { Paper } from '../support/paper.js';
import { ServiceDirectory } from '../support/service-directory.js';
import type { ServiceProcess } from '../support/service-process.js';
import { line } from '../support/token-file.js';

let directory: ServiceDirectory;
let service: ServiceProcess;
let url: string;
let management: string;

beforeAll(async () => {
  directory = new ServiceDirectory();
  ({ service, url, management } = await directory.startManaged());
});

afterAll(() => directory.remove());

interface Page {
  readonly status: number;
  readonly type: string | null;
  readonly text: string;
}

/** Sends a request to the management listener. */
async function get(path: string): Promise<Page> {
  const response = await fetch(`${management}${path}`);
  return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
}

/** Returns the answer of /health/ready, which must have this status. */
async function readiness(status: number): Promise<Record<string, unknown>> {
  const page = await get('/health/ready');
  expect(page.status).toBe(status);
  return JSON.parse(page.text) as Record<string, unknown>;
}

/** Returns the value of a series; NaN if it is missing. */
async function value(series: string): Promise<number> {
  const { text } = await get('/metrics');
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${series} `));
  return Number(line?.slice(series.length + 1) ?? NaN);
}

it('GET / leads to the docs page', async () => {
  const response = await fetch(management);

  expect(response.url).toBe(`${management}/docs`);
  expect(await response.text()).toContain('<title>Plant Store</title>');
});

describe('GET /metrics', () => {
  it('counts answers, plants, batches and refusals, and tells the versions', async () => {
    const began = performance.now();
    await create(url);
    await create(url);
    await create(url, { id: 1, name: 'Ficus' });
    await create(url, { id: 2, name: 'Ficus' }, SECOND_TOKEN);
    await fetch(url);
    await fetch(url, { method: 'OPTIONS', headers: { Origin: management, 'Access-Control-Request-Method': 'POST' } });
    const seconds = (performance.now() - began) / 1_000;

    const { type, text } = await get('/metrics');
    expect(type).toBe('text/plain; version=0.0.4; charset=utf-8');
    // Nothing expires.
    expect(text).not.toMatch(/^plant_store_\w+_expiry_seconds /m);
    for (const line of [
      'plant_store_plants_total{outcome="created"} 1',
      'plant_store_plants_total{outcome="repeated"} 1',
      'plant_store_plants_total{outcome="conflict"} 1',
      'plant_store_http_requests_total{status="200",error=""} 2',
      'plant_store_http_requests_total{status="204",error=""} 1',
      'plant_store_http_requests_total{status="400",error="409"} 1',
      'plant_store_http_requests_total{status="400",error="401"} 2',
      'plant_store_authentication_failures_total{reason="missing"} 1',
      'plant_store_http_request_duration_seconds_count 6',
      'plant_store_batch_size_plants_count 3',
      'plant_store_batch_size_plants_sum 3',
      'plant_store_commit_duration_seconds_count 3',
      'plant_store_queue_depth_plants 0',
      `plant_store_build_info{version="${readVersion()}",node="${process.versions.node}"} 1`,
    ]) {
      expect(text).toContain(`\n${line}\n`);
    }
    // The plants came one after another.
    const [commits = 0, requests = 0] = await Promise.all(
      ['commit', 'http_request'].map((what) => value(`plant_store_${what}_duration_seconds_sum`)),
    );
    expect(commits).toBeGreaterThan(0);
    expect(requests).toBeGreaterThan(commits);
    expect(requests).toBeLessThan(seconds);
  });

  it('has a constant number of series, whatever clients send', async () => {
    const series = async (): Promise<string[]> =>
      [...(await get('/metrics')).text.matchAll(/^plant_store_\S+/gm)].map(([name]) => name);
    const before = await series();

    for (const [turn, method] of ['GET', 'PUT', 'PROPFIND'].entries()) {
      const headers = { 'X-Request-Id': `${turn}`, 'User-Agent': `${turn}`, Authorization: `Bearer ${turn}` };
      await fetch(`${url}/${turn}?${turn}`, { method, headers });
      await create(url, { id: turn, name: `${turn}`, [turn]: turn });
    }

    expect(await series()).toEqual(before);
  });
});

it('While another process locks the store, GET /health/ready and the log say why, and the service is not ready', async () => {
  const before = directory.rows();
  expect(await value('plant_store_ready')).toBe(1);
  const other = directory.openDatabase();
  other.exec('BEGIN EXCLUSIVE');

  // The reason, as SQLite and the service tell it.
  const message = expect.stringMatching(/^the database cannot be used: database is locked/) as unknown;
  expect(await readiness(503)).toMatchObject({ error: { service: { status: 'down', message } } });
  expect(await value('plant_store_ready')).toBe(0);
  expect(await get('/health/live')).toMatchObject({ status: 200, type: 'application/json; charset=utf-8' });
  other.close();

  expect(await readiness(200)).toMatchObject({ status: 'ok', details: { service: { status: 'up' } }, error: {} });
  expect(await value('plant_store_ready')).toBe(1);
  expect(await service.printed(/"level":"error".*(Health Check has failed.*)/)).toContain('database is locked');
  expect(directory.rows()).toEqual(before);
});

it('GET /openapi.json is contract/openapi.yaml, with the address of the public port', async () => {
  const { status, type, text } = await get('/openapi.json');
  const contract = new Paper('contract/openapi.yaml').text;

  expect([status, type]).toEqual([200, 'application/json; charset=utf-8']);
  expect(JSON.parse(text)).toEqual({ ...(parse(contract) as object), servers: [{ url }] });
});

describe('A service that stops', () => {
  beforeAll(async () => {
    ({ service, url, management } = await directory.startManaged({ DATABASE_URL: 'sqlite::memory:' }));
  });

  it('answers 503 to /health/ready, while a request is in flight', async () => {
    const client = await openRequest(url);

    service.signal('SIGTERM');
    await service.printed(/(Stopping after SIGTERM)/);
    expect(await readiness(503)).toMatchObject({
      error: { service: { status: 'down', message: 'it is shutting down' } },
    });
    expect(await value('plant_store_ready')).toBe(0);
    await expect(fetch(url)).rejects.toThrow();
    expect(await get('/health/live')).toMatchObject({ status: 200 });

    client.socket.write(plant(1));
    expect(await service.ended).toBe(0);
  });
});

it('The metrics have the time to the expiry of the certificate, and of the next of the valid tokens', async () => {
  const days = (count: number): Date => new Date(Date.now() + count * 86_400_000);
  const tokens = [
    line('next', 'b', days(7)),
    line('latest', 'c', days(60)),
    line('old', 'd', days(-1)),
    line('no', 'e'),
  ];
  ({ management } = await directory.startManaged({
    ...installCertificate(directory, 'expired'),
    ACCESS_TOKENS_FILE: directory.write('tokens', tokens.join('')),
  }));

  const { validTo } = new X509Certificate(readPem('expired.crt'));
  const left = (Date.parse(validTo) - Date.now()) / 1_000;
  expect(Math.abs((await value('plant_store_certificate_expiry_seconds')) - left)).toBeLessThan(600);
  expect(Math.abs((await value('plant_store_token_expiry_seconds')) - 7 * 86_400)).toBeLessThan(600);
});
