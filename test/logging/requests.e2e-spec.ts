/** Each answer of the public port is published once for the log and the metrics, without tokens, queries and bodies. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { ANSWER_CHANNEL, type AnswerEvent } from '../../src/http/answer-event.js';
import { TOKEN } from '../support/client.js';
import { message, type Parts } from '../support/http-messages.js';
import { converse, RawClient } from '../support/raw-client.js';
import { type Service, startService } from '../support/service.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';

const UUID = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/;
const NO_BODY = { framing: [], body: '' };

describe('An answer of the public port', () => {
  let service: Service;
  /** Refuses requests that do not arrive in time; the other one must not, on a busy machine. */
  let impatient: Service;
  let published: AnswerEvent[];
  const note = (event: unknown): void => void published.push(event as AnswerEvent);

  beforeAll(async () => {
    service = await startService();
    impatient = await startService({ limits: { request: 1_000 } });
    subscribe(ANSWER_CHANNEL, note);
  });

  beforeEach(() => {
    published = [];
  });

  afterAll(async () => {
    unsubscribe(ANSWER_CHANNEL, note);
    await service.close();
    await impatient.close();
  });

  const CREATE = { method: 'POST', path: '/plants', principal: 'tests' };
  const GET_A = { method: 'GET', path: '/a' };
  const MISSING = { error: 401, refusal: 'missing' } as const;
  const TWO_FIELDS = expect.stringMatching(/^id must be .+; tag must be /) as string;
  const NO_PATH = 'There is no such path: use POST /plants.';

  function get(target: string, parts: Parts = {}): string {
    return message({ line: `GET ${target} HTTP/1.1`, ...NO_BODY, ...parts });
  }

  it.each<[what: string, sent: string, event: Partial<AnswerEvent>]>([
    ['a created plant', message(), { ...CREATE, statusCode: 200 }],
    ['no token', get('/a', { authorization: [] }), { ...GET_A, ...MISSING }],
    [
      'wrong fields',
      message({ body: '{"id":"secret","tag":1,"name":""}' }),
      { ...CREATE, error: 422, reason: TWO_FIELDS },
    ],
    ['a query', get('/a?access_token=secret'), { ...GET_A, error: 404, reason: NO_PATH }],
    ['a target with a host', get('http://a/b?c'), { path: 'http://a/b', error: 404 }],
    ['an asterisk', get('*?c'), { path: '*', error: 404 }],
    ['an escape that is not UTF-8', get('/%ff'), { path: '/%ff', error: 400 }],
    ['a query, without Host', get('/a?secret', { host: [] }), { ...GET_A, error: 400 }],
    ['CONNECT', message({ line: 'CONNECT a:1 HTTP/1.1' }), { error: 400 }],
    ['garbage', 'HELO\r\n\r\n', { error: 400 }],
    ['half a head', 'GET / HTTP/1.1\r\nHost: ', { error: 408 }],
    ['half a body', message().slice(0, -1), { ...CREATE, error: 408 }],
  ])('is published once, with its request: %s', async (_what, sent, event) => {
    const { port } = event.error === 408 ? impatient : service;
    const began = performance.now();
    const [answer] = await converse(port, sent);

    expect(published).toMatchObject([{ statusCode: 400, address: '127.0.0.1', ...event }]);
    const [{ requestId, duration, principal, ...others } = {} as AnswerEvent] = published;
    expect(requestId).toMatch(UUID);
    expect(requestId).toBe(answer?.headers['x-request-id']);
    // Not before the end of the headers, and in milliseconds.
    if (event.path === undefined) expect([duration, principal, others.path]).toEqual([undefined, undefined, undefined]);
    else expect(duration).toBeLessThanOrEqual(performance.now() - began);
    if (event.error === 408 && duration !== undefined) expect(duration).toBeGreaterThan(500);
    expect(JSON.stringify(others)).not.toContain('secret');
  });

  const CHARACTERS = 'a\t !"#$%&\'()*+,-./09:;<=>?@AZ[\\]^_`{|}~';

  it.each([
    ['the X-Request-Id of the request', [`X-Request-Id: ${CHARACTERS}`], CHARACTERS],
    ['a UUID if that is empty', ['X-Request-Id:'], undefined],
    ['both if there are two', ['X-Request-Id: a', 'X-Request-Id: b'], 'a, b'],
  ])('has %s', async (_what, more, id) => {
    const [answer] = await converse(service.port, message({ more }));

    expect(answer?.headers['x-request-id']).toEqual(id ?? expect.stringMatching(UUID));
    expect(published[0]?.requestId).toBe(answer?.headers['x-request-id']);
  });
});

describe('The log of requests', () => {
  const directory = ServiceDirectory.ofEachTest();

  it('has one line a request, in order, with the address that a trusted proxy names, and no secret', async () => {
    const variables = { ...WITH_TOKEN, TRUST_PROXY: 'loopback', CORS_ORIGINS: 'https://garden.example' };
    const { service, url } = await directory.start(variables);
    const forwarded = 'X-Forwarded-For: 198.51.100.1, 192.0.2.1';
    const preflight = ['Origin: https://garden.example', 'Access-Control-Request-Method: POST'];
    const requests: Parts[] = [
      {
        line: 'POST /plants?access_token=query-secret HTTP/1.1',
        body: '{"id":1,"name":"body-secret"}',
        more: [forwarded],
      },
      // As Azure's gateway writes it.
      { more: ['X-Forwarded-For: 203.0.113.7:51234'], authorization: ['Authorization: Bearer wrong-secret'] },
      // Two that the guard does not get.
      { line: 'OPTIONS /plants HTTP/1.1', ...NO_BODY, more: [forwarded, ...preflight] },
      { host: ['Host: a b'], more: [forwarded] },
    ];
    for (const parts of requests) {
      const client = await RawClient.open(url);
      client.socket.write(message({ ...parts, more: [...(parts.more ?? []), 'Connection: close'] }));
      await client.closed;
    }
    await service.stop();

    const lines = service.lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    const logged = lines.filter(({ message }) => message === 'request');
    expect(Object.keys(logged[0] ?? {}).join(' ')).toBe(
      'level time requestId principal method path statusCode duration address message',
    );
    expect(logged).toMatchObject([
      { path: '/plants', statusCode: 200, address: '192.0.2.1' },
      { error: 401, refusal: 'unknown', address: '203.0.113.7:51234' },
      { method: 'OPTIONS', statusCode: 204, address: '192.0.2.1' },
      { error: 400, address: '192.0.2.1' },
    ]);
    expect(service.stdout).not.toMatch(new RegExp(`secret|${TOKEN}`));
  });
});
