import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { ServiceUnavailableException } from '@nestjs/common';
import { REFUSAL_CHANNEL, type AuthenticationRefused } from '../../src/auth/authentication.js';
import { digestToken, StaticTokens } from '../../src/auth/static-tokens.js';
import { TokenVerifier, TokenVerifiers, type VerificationResult } from '../../src/auth/token-verifier.js';
import { ContractException } from '../../src/contract/contract.exception.js';
import { REQUEST_CHANNEL, type RequestMessage } from '../../src/http/request-channel.js';
import { TOKEN } from '../support/client.js';
import { type Service, startService } from '../support/service.js';

const UNAUTHORIZED = {
  error: 401,
  message: 'A valid token is required: send the header "Authorization: Bearer <ACCESS_TOKEN>".',
};

const CHALLENGE = 'Bearer realm="plants"';

/** A verifier as an embedding application may write it. */
class HostVerifier extends TokenVerifier {
  override verify(token: string): VerificationResult | Promise<VerificationResult> {
    switch (token) {
      case 'writer':
        return { name: token, scopes: ['plants:read', 'plants:write'] };
      case 'reader':
        return { name: token, scopes: ['plants:read'] };
      case 'later':
        return Promise.resolve({ name: token, expires: new Date(Date.now() + 60_000) });
      case 'over':
        return { name: token, expires: new Date(Date.now() - 1) };
      case 'reason':
        return 'wrong-audience';
      case 'null':
        return JSON.parse('null') as undefined;
      case 'unavailable':
        throw new ContractException(503);
      case 'unavailable-to-nest':
        return Promise.reject(new ServiceUnavailableException('a secret'));
      case 'defect':
        throw new Error(`The verifier met ${token}`, { cause: new Error('its cause') });
      default:
        return undefined;
    }
  }
}

let service: Service;

beforeAll(async () => {
  const configured = new StaticTokens([{ name: 'tests', digest: digestToken(TOKEN) }]);
  service = await startService({ verifier: new TokenVerifiers([configured, new HostVerifier()]) });
});

afterAll(() => service.close());

interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Headers;
}

/** Sends a plant with the value of Authorization; undefined omits the header. */
async function create(
  authorization?: string,
  { path = '/plants', headers = {}, body = {} }: { path?: string; headers?: object; body?: object } = {},
): Promise<Answer> {
  const answer = await fetch(service.url + path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers, ...(authorization && { Authorization: authorization }) },
    body: JSON.stringify({ id: 1, name: 'Monstera', ...body }),
  });
  return { status: answer.status, body: await answer.json(), headers: answer.headers };
}

describe('A bearer token (RFC 6750)', () => {
  it.each([
    { what: 'no header', value: undefined, challenge: CHALLENGE },
    { what: 'another scheme', value: 'Basic dGVzdHM6dGVzdHM=', challenge: CHALLENGE },
    { what: 'only the scheme', value: 'Bearer', challenge: CHALLENGE },
    { what: 'only the token', value: TOKEN, challenge: CHALLENGE },
    { what: 'an unknown token', value: 'Bearer -._~+/=', challenge: `${CHALLENGE}, error="invalid_token"` },
    { what: 'two tokens', value: `Bearer ${TOKEN} ${TOKEN}`, challenge: `${CHALLENGE}, error="invalid_token"` },
    { what: 'other characters', value: 'Bearer =writer', challenge: `${CHALLENGE}, error="invalid_token"` },
  ])('is refused with $what: error 401, with a challenge', async ({ value, challenge }) => {
    const { status, body, headers } = await create(value);

    expect([status, body]).toEqual([400, UNAUTHORIZED]);
    expect(headers.get('www-authenticate')).toBe(challenge);
    expect(await service.rows()).toEqual([]);
  });

  it('is ignored in the query, the body and cookies', async () => {
    const { body } = await create(undefined, {
      path: `/plants?access_token=${TOKEN}`,
      headers: { Cookie: `access_token=${TOKEN}` },
      body: { access_token: TOKEN },
    });

    expect(body).toEqual(UNAUTHORIZED);
    expect(await service.rows()).toEqual([]);
  });

  it('without the scope is refused with error 403', async () => {
    const { status, body, headers } = await create('Bearer reader');

    expect(status).toBe(400);
    expect(body).toEqual({ error: 403, message: 'This token lacks the scope that the operation requires.' });
    expect(headers.get('www-authenticate')).toBe(`${CHALLENGE}, error="insufficient_scope", scope="plants:write"`);
    expect(await service.rows()).toEqual([]);
  });

  it('gets error 404 for an unknown path, whatever its scopes are', async () => {
    expect(await create('Bearer reader', { path: '/nothing' })).toMatchObject({ body: { error: 404 } });
  });

  it.each(['Bearer', 'bearer', 'BEARER', 'Bearer  '])('is accepted after the scheme %p', async (scheme) => {
    const { status, headers } = await create(`${scheme} ${TOKEN}`);

    expect(status).toBe(200);
    expect(headers.get('www-authenticate')).toBeNull();
  });

  it('with the scope among others is accepted', async () => {
    expect(await create('Bearer writer')).toMatchObject({ status: 200 });
  });
});

describe('A verifier', () => {
  it.each([
    ['later', 200],
    ['over', 401],
    ['reason', 401],
    ['null', 401],
    ['unavailable', 503],
    ['unavailable-to-nest', 503],
  ])('decides the answer to the token %p: %i', async (token, expected) => {
    const { status, body, headers } = await create(`Bearer ${token}`);

    expect((body as { error?: number }).error ?? status).toBe(expected);
    expect(headers.get('retry-after')).toBe(expected === 503 ? '1' : null);
    expect(JSON.stringify(body)).not.toContain('secret');
  });

  it('that fails causes error 500, with its error in the log and not in the answer', async () => {
    const { body, headers } = await create('Bearer defect');

    expect(body).toEqual({
      error: 500,
      message: 'The service failed. This is a defect of the service, not of the request.',
    });
    expect(service.log()).toEqual([
      expect.stringMatching(
        new RegExp(
          `^The request ${headers.get('x-request-id') ?? ''} failed: The verifier met defect\n` +
            'Error: The verifier met defect\n(?: {4}at .*\n)+Caused by: Error: its cause\n',
        ),
      ),
    ]);
  });

  it('works with others, and the first that knows a token decides', async () => {
    const first = new StaticTokens([{ name: 'first', digest: digestToken('both'), expires: new Date(0) }]);
    const second = new StaticTokens(
      ['both', 'second'].map((token) => ({ name: 'second', digest: digestToken(token) })),
    );
    const verifier = new TokenVerifiers([first, second]);

    expect(await verifier.verify('both')).toEqual({ name: 'first', expires: new Date(0) });
    expect(await verifier.verify('second')).toEqual({ name: 'second' });
    expect(await verifier.verify('neither')).toBe('unknown');
  });
});

describe('A refused request', () => {
  const refusals: AuthenticationRefused[] = [];
  const lines: RequestMessage[] = [];
  const noteRefusal = (message: unknown): void => void refusals.push(message as AuthenticationRefused);
  const noteLine = (message: unknown): void => void lines.push(message as RequestMessage);

  beforeAll(() => {
    subscribe(REFUSAL_CHANNEL, noteRefusal);
    subscribe(REQUEST_CHANNEL, noteLine);
  });

  afterAll(() => {
    unsubscribe(REFUSAL_CHANNEL, noteRefusal);
    unsubscribe(REQUEST_CHANNEL, noteLine);
  });

  it('has its reason in its log line and in a diagnostics message, but not the token', async () => {
    for (const value of [undefined, 'Bearer "token"', 'Bearer a-guess', 'Bearer over', `Bearer ${TOKEN}`]) {
      await create(value);
    }

    const address = '127.0.0.1';
    expect(refusals).toEqual([
      { address, reason: 'missing' },
      { address, reason: 'malformed' },
      { address, reason: 'unknown' },
      { address, reason: 'expired', principal: 'over' },
    ]);
    expect(lines).toMatchObject([
      { address, error: 401, refusal: 'missing' },
      { address, error: 401, refusal: 'malformed' },
      { address, error: 401, refusal: 'unknown' },
      { address, error: 401, refusal: 'expired', principal: 'over' },
      { address, status: 200 },
    ]);
    expect(JSON.stringify(lines)).not.toMatch(new RegExp(`token"|a-guess|${TOKEN}`));
  });
});
