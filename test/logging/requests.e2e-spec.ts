import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { REQUEST_CHANNEL, type RequestMessage } from '../../src/http/request-channel.js';
import { converse } from '../support/raw-client.js';
import { TOKEN } from '../support/client.js';
import { type Service, startService } from '../support/service.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';

const UUID = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/;

function head(line: string, ...headers: string[]): string {
  return [line, 'Host: localhost', `Authorization: Bearer ${TOKEN}`, ...headers, '', ''].join('\r\n');
}

function creation(...headers: string[]): string {
  return post('{"id":1,"name":"Ficus"}', ...headers);
}

function post(body: string, ...headers: string[]): string {
  const framing = ['Content-Type: application/json', `Content-Length: ${body.length}`];
  return head('POST /plants HTTP/1.1', ...framing, ...headers) + body;
}

describe('An answer of the public port', () => {
  let service: Service;
  let messages: RequestMessage[];
  const note = (message: unknown): void => void messages.push(message as RequestMessage);

  beforeAll(async () => {
    service = await startService({ limits: { request: 100 } });
    subscribe(REQUEST_CHANNEL, note);
  });

  beforeEach(() => {
    messages = [];
  });

  afterAll(async () => {
    unsubscribe(REQUEST_CHANNEL, note);
    await service.close();
  });

  it.each<[string, string, Partial<RequestMessage>]>([
    ['a created plant', creation(), { principal: 'tests', method: 'POST', path: '/plants', status: 200 }],
    [
      'no token',
      'GET / HTTP/1.1\r\nHost: a\r\n\r\n',
      { principal: undefined, method: 'GET', path: '/', error: 401, refusal: 'missing' },
    ],
    [
      'two wrong fields',
      post('{"id":"secret","name":"Ficus","tag":null}'),
      { error: 422, reason: expect.stringMatching(/^id must be .+; tag must be /) as string },
    ],
    ['a forged address', creation('X-Forwarded-For: 192.0.2.1'), { status: 200 }],
    ['a query', head('GET /a?access_token=secret HTTP/1.1'), { path: '/a', error: 404 }],
    ['a long path', head(`GET /${'a'.repeat(1_000)} HTTP/1.1`), { path: `/${'a'.repeat(255)}`, error: 404 }],
    ['an invalid target', head('GET /\x9b\xe4 HTTP/1.1'), { error: 400 }],
    ['no Host', 'GET /plants HTTP/1.1\r\n\r\n', { method: 'GET', path: '/plants', error: 400 }],
    ['CONNECT', head('CONNECT a:1 HTTP/1.1'), { method: undefined, path: undefined, error: 400 }],
    ['an unknown expectation', creation('Expect: more'), { method: 'POST', path: '/plants', error: 417 }],
    ['garbage', 'HELO\r\n\r\n', { method: undefined, path: undefined, duration: undefined, error: 400 }],
    ['large headers', head('GET / HTTP/1.1', `X-More: ${'a'.repeat(20_000)}`), { error: 431 }],
    ['half a head', 'GET / HTTP/1.1\r\nHost: ', { method: undefined, error: 408 }],
    ['half a body', creation().slice(0, -1), { method: 'POST', path: '/plants', error: 408 }],
  ])('is published once, with its request: %s', async (_what, sent, expected) => {
    const [answer] = await converse(service.port, sent);

    expect(answer?.headers['x-request-id']).toMatch(UUID);
    const absent = { method: undefined, path: undefined, duration: undefined };
    const complete = messages.map((published) => ({ ...absent, ...published }));
    expect(complete).toEqual([expect.objectContaining({ status: 400, address: '127.0.0.1', ...expected })]);
    expect(messages[0]?.requestId).toBe(answer?.headers['x-request-id']);
    if (expected.method !== undefined) expect(messages[0]?.duration).toBeGreaterThan(0);
  });

  it.each([
    ['letters, digits and -._~', 'a-Z.0_9~', true],
    ['128 characters', 'a'.repeat(128), true],
    ['129 characters', 'a'.repeat(129), false],
    ['a quotation mark', 'a"b', false],
  ])('has the X-Request-Id of the request if that is valid: %s', async (_what, id, isKept) => {
    const [answer] = await converse(service.port, creation(`X-Request-Id: ${id}`));

    const returned = answer?.headers['x-request-id'] ?? '';
    if (isKept) expect(returned).toBe(id);
    else expect(returned).toMatch(UUID);
    expect(messages[0]?.requestId).toBe(returned);
  });

  it('has a new X-Request-Id if the request has two', async () => {
    const [answer] = await converse(service.port, creation('X-Request-Id: a', 'X-Request-Id: b'));

    expect(answer?.headers['x-request-id']).toMatch(UUID);
  });

  const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
  const SPAN = '00f067aa0ba902b7';

  it.each([
    ['version 00', `00-${TRACE}-${SPAN}-01`, true],
    ['a later version with a suffix', `01-${TRACE}-${SPAN}-01-more`, true],
    ['version 00 with a suffix', `00-${TRACE}-${SPAN}-01-more`, false],
    ['version ff', `ff-${TRACE}-${SPAN}-01`, false],
    ['an all-zero trace', `00-${'0'.repeat(32)}-${SPAN}-01`, false],
    ['an all-zero span', `00-${TRACE}-${'0'.repeat(16)}-01`, false],
  ])('is published with the traceparent if that is valid: %s', async (_what, traceparent, carried) => {
    await converse(service.port, creation(`traceparent: ${traceparent}`));

    const expected = carried ? { traceId: TRACE, spanId: SPAN } : { traceId: undefined, spanId: undefined };
    expect(messages).toMatchObject([expected]);
  });
});

describe('The request log', () => {
  const directory = ServiceDirectory.ofEachTest();

  it('has one JSON object a request, in order, without tokens, queries and bodies', async () => {
    const { service, url } = await directory.start({ ...WITH_TOKEN });
    const ids: string[] = [];
    for (const token of [TOKEN, 'wrong-secret', TOKEN]) {
      const response = await fetch(`${url}/plants?access_token=query-secret`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
        body: '{"id": 1, "name": "body-secret"}',
      });
      ids.push(response.headers.get('x-request-id') ?? '');
    }
    expect(await service.stop()).toBe(0);

    const lines = service.lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    const requests = lines.filter(({ message }) => message === 'request');
    expect(requests.map(({ requestId }) => requestId)).toEqual(ids);
    expect(Object.keys(requests[0] ?? {}).join(' ')).toBe(
      'level time requestId principal method path status duration address message',
    );
    expect(requests[1]).toMatchObject({ error: 401, refusal: 'unknown' });
    expect(service.stdout).not.toMatch(new RegExp(`secret|${TOKEN}`));
  });

  it('has the address that a trusted proxy names, and not one that its client forged', async () => {
    const { service, url } = await directory.start({ ...WITH_TOKEN, TRUST_PROXY: 'loopback' });
    await fetch(url, { headers: { 'X-Forwarded-For': '198.51.100.1, 192.0.2.1' } });
    await service.stop();

    expect(service.stdout).toContain('"address":"192.0.2.1"');
    expect(service.stdout).not.toContain('198.51.100.1');
  });
});
