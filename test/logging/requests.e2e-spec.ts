import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { ANSWER_CHANNEL, type AnswerEvent } from '../../src/http/answer-event.js';
import { message } from '../support/http-messages.js';
import { converse, RawClient } from '../support/raw-client.js';
import { TOKEN } from '../support/client.js';
import { type Service, startService } from '../support/service.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';

const UUID = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/;

function head(line: string, ...headers: string[]): string {
  return [line, 'Host: localhost', `Authorization: Bearer ${TOKEN}`, ...headers, '', ''].join('\r\n');
}

function post(body: string, ...headers: string[]): string {
  const framing = ['Content-Type: application/json', `Content-Length: ${body.length}`];
  return head('POST /plants HTTP/1.1', ...framing, ...headers) + body;
}

function creation(...headers: string[]): string {
  return post('{"id":1,"name":"Ficus"}', ...headers);
}

describe('An answer of the public port', () => {
  let service: Service;
  /** Refuses requests that do not arrive in time; the other one must not, on a busy machine. */
  let impatient: Service;
  let messages: AnswerEvent[];
  const note = (message: unknown): void => void messages.push(message as AnswerEvent);

  beforeAll(async () => {
    service = await startService();
    impatient = await startService({ limits: { request: 1_000 } });
    subscribe(ANSWER_CHANNEL, note);
  });

  beforeEach(() => {
    messages = [];
  });

  afterAll(async () => {
    unsubscribe(ANSWER_CHANNEL, note);
    await service.close();
    await impatient.close();
  });

  const CREATE = { method: 'POST', path: '/plants' };
  const OPTIONAL = ['method', 'path', 'duration', 'principal', 'error', 'reason', 'refusal'];
  const WITHOUT = Object.fromEntries(OPTIONAL.map((field) => [field, undefined]));
  const UNREADABLE = { method: undefined, path: undefined };
  const SUCCESS = { statusCode: 200, error: undefined, reason: undefined, refusal: undefined };
  const MISSING = { error: 401, refusal: 'missing', reason: undefined, principal: undefined } as const;
  const TWO_FIELDS = expect.stringMatching(/^id must be .+; tag must be /) as string;

  it.each<[what: string, sent: string, published: Partial<AnswerEvent>]>([
    ['a created plant', creation(), { ...CREATE, ...SUCCESS, principal: 'tests' }],
    ['no token', 'GET /a HTTP/1.1\r\nHost: a\r\n\r\n', { method: 'GET', path: '/a', ...MISSING }],
    ['two wrong fields', post('{"id":"secret","name":"a","tag":null}'), { ...CREATE, error: 422, reason: TWO_FIELDS }],
    ['a forged address', creation('X-Forwarded-For: 192.0.2.1'), { ...CREATE, statusCode: 200 }],
    ['a query', head('GET /a?access_token=secret HTTP/1.1'), { method: 'GET', path: '/a', error: 404 }],
    ['a target with a host', head('GET http://a/b?c HTTP/1.1'), { method: 'GET', path: 'http://a/b', error: 404 }],
    ['an escape that is not UTF-8', head('GET /%ff HTTP/1.1'), { method: 'GET', path: '/%ff', error: 400 }],
    // Before the router has cut it off.
    ['a query, without Host', 'GET /a?secret HTTP/1.1\r\n\r\n', { method: 'GET', path: '/a', error: 400 }],
    ['CONNECT', head('CONNECT a:1 HTTP/1.1'), { ...UNREADABLE, error: 400 }],
    ['garbage', 'HELO\r\n\r\n', { ...UNREADABLE, duration: undefined, error: 400 }],
    ['half a head', 'GET / HTTP/1.1\r\nHost: ', { ...UNREADABLE, error: 408 }],
    ['half a body', creation().slice(0, -1), { ...CREATE, error: 408 }],
  ])('is published once, with its request: %s', async (_what, sent, published) => {
    const { port } = published.error === 408 ? impatient : service;
    const began = performance.now();
    const [answer] = await converse(port, sent);

    const [message, ...more] = messages;
    expect(more).toEqual([]);
    expect({ ...WITHOUT, ...message }).toMatchObject({
      statusCode: 400,
      address: '127.0.0.1',
      ...published,
    });
    expect(message?.requestId).toMatch(UUID);
    expect(message?.requestId).toBe(answer?.headers['x-request-id']);
    if (published.method !== undefined) expect(message?.duration).toBeGreaterThanOrEqual(0);
    // Not before the end of the headers, and in milliseconds.
    if (message?.duration !== undefined) expect(message.duration).toBeLessThanOrEqual(performance.now() - began);
    if (published.error === 408 && published.method !== undefined) expect(message?.duration).toBeGreaterThan(500);
  });

  it('has the X-Request-Id of the request', async () => {
    const id = 'Az_09.~-'.repeat(16);
    const [answer] = await converse(service.port, creation(`X-Request-Id: ${id}`));

    expect(answer?.headers['x-request-id']).toBe(id);
    expect(messages[0]?.requestId).toBe(id);
  });

  it.each([
    ['is too long', ['X-Request-Id: ' + 'a'.repeat(129)]],
    ['is empty', ['X-Request-Id:']],
    ['has other characters', ['X-Request-Id: a b']],
    ['is sent twice', ['X-Request-Id: a', 'X-Request-Id: b']],
  ])('has a UUID if the X-Request-Id of the request %s', async (_what, headers) => {
    const [answer] = await converse(service.port, creation(...headers));

    expect(answer?.headers['x-request-id']).toMatch(UUID);
    expect(messages[0]?.requestId).toBe(answer?.headers['x-request-id']);
  });
});

describe('The request log', () => {
  const directory = ServiceDirectory.ofEachTest();

  it('has one JSON object a request, in order, without tokens, queries and bodies', async () => {
    const { service, url } = await directory.start();
    const ids: (string | null)[] = [];
    for (const token of [TOKEN, 'wrong-secret', TOKEN]) {
      const response = await fetch(`${url}/plants?access_token=query-secret`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
        body: '{"id": 1, "name": "body-secret"}',
      });
      ids.push(response.headers.get('x-request-id'));
    }
    await service.stop();

    const lines = service.lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    const requests = lines.filter(({ message }) => message === 'request');
    expect(requests.map(({ requestId }) => requestId)).toEqual(ids);
    expect(Object.keys(requests[0] ?? {}).join(' ')).toBe(
      'level time requestId principal method path statusCode duration address message',
    );
    expect(requests[1]).toMatchObject({ error: 401, refusal: 'unknown' });
    expect(service.stdout).not.toMatch(new RegExp(`secret|${TOKEN}`));
  });

  it('has the address that a trusted proxy names, and not one that its client forged', async () => {
    const origin = 'https://garden.example';
    const variables = { ...WITH_TOKEN, TRUST_PROXY: 'loopback', CORS_ORIGINS: origin };
    const { service, url } = await directory.start({ ...variables, LOG_REQUESTS: 'all' });
    const forwarded = { 'X-Forwarded-For': '198.51.100.1, 192.0.2.1' };
    await fetch(url, { headers: forwarded });
    // Two that the guard does not get.
    const preflight = { Origin: origin, 'Access-Control-Request-Method': 'POST' };
    await fetch(url, { method: 'OPTIONS', headers: { ...forwarded, ...preflight } });
    const client = await RawClient.open(url);
    const more = Object.entries(forwarded).map(([name, value]) => `${name}: ${value}`);
    expect(await client.ask(message({ more: ['Host: another', ...more] }))).toBe(400);
    client.socket.destroy();
    // As Azure's gateway writes it.
    await fetch(url, { headers: { 'X-Forwarded-For': '203.0.113.7:51234' } });
    await service.stop();

    const addresses = service.stdout.match(/(?<="address":")[^"]+/g);
    expect(addresses).toEqual(['192.0.2.1', '192.0.2.1', '192.0.2.1', '203.0.113.7:51234']);
  });
});
