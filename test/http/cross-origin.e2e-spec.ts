import { type IncomingHttpHeaders, request } from 'node:http';
import { expectPlant, KEEP_ALIVE, message } from '../support/http-messages.js';
import { converse, RawClient } from '../support/raw-client.js';
import { TOKEN } from '../support/client.js';
import { type Service, startService } from '../support/service.js';

const ALLOWED = 'https://plants.example';
const FOREIGN = 'https://elsewhere.example';

let service: Service;

beforeEach(async () => {
  service = await startService({ origins: new Set([ALLOWED]) });
});

afterEach(() => service.close());

interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

function send(method: string, headers: Record<string, string>, body = '', path = '/plants'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(service.url + path, { method, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, body: text }));
    });
    outgoing.on('error', reject).end(body);
  });
}

/** Sends the preflight request of a browser. */
function preflight(origin: string, headers: Record<string, string> = {}): Promise<Answer> {
  return send('OPTIONS', {
    Origin: origin,
    'Access-Control-Request-Method': 'POST',
    'Access-Control-Request-Headers': 'authorization,content-type',
    ...headers,
  });
}

/** Returns the names of the CORS headers in an answer. */
function corsHeaders({ headers }: { headers: object }): string[] {
  return Object.keys(headers).filter((name) => name === 'vary' || name.startsWith('access-control-'));
}

const READABLE = {
  'access-control-allow-origin': ALLOWED,
  vary: 'Origin',
  'access-control-expose-headers': 'Retry-After, WWW-Authenticate, X-Request-Id',
};

describe('A page of an allowed origin', () => {
  it('gets an answer to its preflight request without a token', async () => {
    const { status, headers, body } = await preflight(ALLOWED);

    expect(status).toBe(204);
    expect(headers).toMatchObject({
      ...READABLE,
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': 'authorization, content-type, x-request-id',
      'access-control-max-age': '7200',
    });
    expect(body).toBe('');
  });

  it.each<[string, number, string, Record<string, string>, string]>([
    [
      'the created plant',
      200,
      'POST',
      { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' },
      '{"id":1,"name":"Ficus"}',
    ],
    [
      'the refusal of its plant',
      400,
      'POST',
      { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' },
      '{}',
    ],
    ['the refusal of its token', 400, 'POST', { Authorization: 'Bearer none' }, '{}'],
    [
      'the refusal of OPTIONS that is not a preflight request',
      400,
      'OPTIONS',
      { Authorization: `Bearer ${TOKEN}` },
      '',
    ],
    ['the refusal of its Host', 400, 'POST', { Host: 'two hosts' }, ''],
  ])('may read %s', async (_, status, method, headers, body) => {
    const answer = await send(method, { Origin: ALLOWED, ...headers }, body);

    expect(answer.status).toBe(status);
    expect(answer.headers).toMatchObject(READABLE);
    expect(answer.headers['access-control-allow-methods']).toBeUndefined();
  });

  it('sends the plant on the connection of its preflight request', async () => {
    const client = await RawClient.connect(Number(new URL(service.url).port));
    const lines = [
      'OPTIONS /plants HTTP/1.1',
      'Host: localhost',
      `Origin: ${ALLOWED}`,
      'Access-Control-Request-Method: POST',
    ];
    await client.send(`${lines.join('\r\n')}\r\n\r\n`);

    expect((await client.answer('OPTIONS')).headers.connection).toBe('keep-alive');
    await client.send(message({ more: [`Origin: ${ALLOWED}`] }));
    expectPlant(await client.answer(), 1, { ...READABLE, ...KEEP_ALIVE });
    expect(await client.hangUp()).toBe('FIN');
  });

  it('gets one answer to a preflight request with an invalid body', async () => {
    const client = await RawClient.connect(service.port);
    await client.send(
      `OPTIONS /plants HTTP/1.1\r\nHost: localhost\r\nOrigin: ${ALLOWED}\r\nAccess-Control-Request-Method: POST\r\n` +
        'Transfer-Encoding: chunked\r\n\r\n',
    );
    expect((await client.answer('OPTIONS')).statusLine).toBe('HTTP/1.1 204 No Content');

    await client.send('this is no chunk\r\n');
    expect(await client.ending()).toBe('FIN');
    expect(await client.hangUp()).toBe('FIN');
  });

  it('may read the refusal of an invalid body', async () => {
    const { answers } = await converse(service.port, [
      `POST /plants HTTP/1.1\r\nHost: localhost\r\nOrigin: ${ALLOWED}\r\nAuthorization: Bearer ${TOKEN}\r\n` +
        'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
      'this is no chunk\r\n',
    ]);

    expect(answers[0]?.statusLine).toBe('HTTP/1.1 400 Bad Request');
    expect(answers[0]?.headers).toMatchObject(READABLE);
  });
});

describe('A page of another origin', () => {
  it.each([
    ['without a token', 401, {}],
    ['with a token', 405, { Authorization: `Bearer ${TOKEN}` }],
  ])('gets the usual refusal of its preflight request %s, error %i', async (_, error, headers) => {
    for (const origin of [FOREIGN, 'null', `${ALLOWED}.elsewhere.example`, ALLOWED.toUpperCase(), `${ALLOWED}:443`]) {
      const answer = await preflight(origin, headers);

      expect(answer.status).toBe(400);
      expect(JSON.parse(answer.body)).toMatchObject({ error });
      expect(corsHeaders(answer)).toEqual([]);
    }
  });

  it('may not read answers', async () => {
    const headers = { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' };

    for (const origin of [{ Origin: FOREIGN }, {}]) {
      const answer = await send('POST', { ...headers, ...origin }, '{"id":1,"name":"Ficus"}');

      expect(answer.status).toBe(200);
      expect(corsHeaders(answer)).toEqual([]);
    }
  });
});
