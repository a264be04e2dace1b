/** Pages of CORS_ORIGINS may create plants and read all answers; other pages may not. */
import { TOKEN } from '../support/client.js';
import { expectPlant, KEEP_ALIVE } from '../support/http-answers.js';
import { chunkedMessage, message } from '../support/http-messages.js';
import { converse, type RawAnswer, RawClient } from '../support/raw-client.js';
import { sharedService } from '../support/service.js';

const ALLOWED = 'https://plants.example';
const FOREIGN = 'https://elsewhere.example';

const READABLE = {
  'access-control-allow-origin': ALLOWED,
  vary: 'Origin',
  'access-control-expose-headers': 'Retry-After, WWW-Authenticate, X-Request-Id',
};

/** Returns the preflight request of a browser. */
function preflight(origin: string, authorization: readonly string[] = []): string {
  const asked = [
    'Access-Control-Request-Method: POST',
    'Access-Control-Request-Headers: authorization,baggage,content-type',
  ];
  const more = [`Origin: ${origin}`, ...asked];
  return message({ line: 'OPTIONS /plants HTTP/1.1', authorization, type: [], framing: [], body: '', more });
}

/** Returns the names of the CORS headers in an answer. */
function corsHeaders(answer: RawAnswer | undefined): string[] {
  return Object.keys(answer?.headers ?? {}).filter((name) => name === 'vary' || name.startsWith('access-control-'));
}

const service = sharedService({ origins: new Set([ALLOWED]) });

describe('A page of an allowed origin', () => {
  const more = [`Origin: ${ALLOWED}`];

  it('gets an answer to its preflight request without a token', async () => {
    const [answer] = await converse(service.port, preflight(ALLOWED));

    expect(answer?.statusLine).toBe('HTTP/1.1 204 No Content');
    expect(answer?.headers).toMatchObject({
      ...READABLE,
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': 'authorization,baggage,content-type',
      'access-control-max-age': '7200',
    });
  });

  it('needs a token for OPTIONS that is no preflight request', async () => {
    const line = 'OPTIONS /plants HTTP/1.1';
    const [answer] = await converse(
      service.port,
      message({ line, authorization: [], type: [], framing: [], body: '', more }),
    );

    expect(JSON.parse(answer?.body ?? '')).toMatchObject({ error: 401 });
  });

  it.each([
    ['the created plant', 200, message({ more })],
    ['the refusal of its token', 400, message({ more, authorization: [] })],
    ['the refusal of an invalid body', 400, chunkedMessage('this is no chunk\r\n', { more })],
  ])('may read %s', async (_what, status, bytes) => {
    const [answer] = await converse(service.port, bytes);

    expect(answer?.statusLine).toContain(` ${status} `);
    expect(answer?.headers).toMatchObject(READABLE);
    expect(answer?.headers['access-control-allow-methods']).toBeUndefined();
  });

  it('sends the plant on the connection of its preflight request', async () => {
    const client = await RawClient.connect(service.port);
    await client.send(preflight(ALLOWED));

    expect((await client.answer('OPTIONS')).headers.connection).toBe('keep-alive');
    await client.send(message({ more }));
    expectPlant(await client.answer(), 1, { ...READABLE, ...KEEP_ALIVE });
    await client.hangUp();
  });
});

describe('A page of another origin', () => {
  it.each([FOREIGN, 'null', `${ALLOWED}.elsewhere.example`, ALLOWED.toUpperCase(), `${ALLOWED}:443`])(
    'gets the usual refusal of its preflight request: %s',
    async (origin) => {
      const [withoutToken] = await converse(service.port, preflight(origin));
      const [withToken] = await converse(service.port, preflight(origin, [`Authorization: Bearer ${TOKEN}`]));

      expect(JSON.parse(withoutToken?.body ?? '')).toMatchObject({ error: 401 });
      expect(JSON.parse(withToken?.body ?? '')).toMatchObject({ error: 405 });
      expect([...corsHeaders(withoutToken), ...corsHeaders(withToken)]).toEqual([]);
    },
  );

  it('may not read the answers', async () => {
    const [answer] = await converse(service.port, message({ more: [`Origin: ${FOREIGN}`] }));

    expectPlant(answer, 1, KEEP_ALIVE);
    expect(corsHeaders(answer)).toEqual([]);
  });
});
