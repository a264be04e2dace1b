import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { ServiceUnavailableException } from '@nestjs/common';
import request from 'supertest';
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

/** Sends a plant with the value of Authorization; undefined omits the header. */
function create(authorization?: string, path = '/plants'): request.Test {
  const attempt = request(service.url).post(path);
  return (authorization === undefined ? attempt : attempt.set('Authorization', authorization)).send({
    id: 1,
    name: 'Monstera',
  });
}

describe('A bearer token (RFC 6750)', () => {
  it.each([
    ['no header', undefined],
    ['another scheme', 'Basic dGVzdHM6dGVzdHM='],
    ['only the scheme', 'Bearer'],
    ['only the token', TOKEN],
  ])('is missing with %s: error 401, with a challenge that names no error', async (_what, authorization) => {
    const response = await create(authorization);

    expect(response.status).toBe(400);
    expect(response.body).toEqual(UNAUTHORIZED);
    expect(response.headers['www-authenticate']).toBe('Bearer realm="plants"');
    expect(await service.rows()).toEqual([]);
  });

  it.each([
    ['an unknown token', 'Bearer -._~+/='],
    ['a part of the token', `Bearer ${TOKEN.slice(1)}`],
    ['two tokens', `Bearer ${TOKEN} ${TOKEN}`],
    ['characters outside b64token', 'Bearer =writer'],
  ])('is invalid with %s: error 401, with the challenge invalid_token', async (_what, authorization) => {
    const response = await create(authorization);

    expect(response.status).toBe(400);
    expect(response.body).toEqual(UNAUTHORIZED);
    expect(response.headers['www-authenticate']).toBe('Bearer realm="plants", error="invalid_token"');
    expect(await service.rows()).toEqual([]);
  });

  it('is ignored in the query, the body and cookies', async () => {
    const response = await request(service.url)
      .post(`/plants?access_token=${TOKEN}`)
      .set('Cookie', `access_token=${TOKEN}`)
      .send({ id: 1, name: 'Monstera', access_token: TOKEN });

    expect(response.body).toEqual(UNAUTHORIZED);
    expect(await service.rows()).toEqual([]);
  });

  it('without the scope is refused with error 403', async () => {
    const response = await create('Bearer reader');

    expect(response.status).toBe(400);
    expect(response.body).toEqual({
      error: 403,
      message: 'This token lacks the scope that the operation requires.',
    });
    expect(response.headers['www-authenticate']).toBe(
      'Bearer realm="plants", error="insufficient_scope", scope="plants:write"',
    );
    expect(await service.rows()).toEqual([]);
  });

  it('gets error 404 for an unknown path, whatever its scopes are', async () => {
    const response = await create('Bearer reader', '/nothing');

    expect(response.body).toMatchObject({ error: 404 });
  });

  it.each(['Bearer', 'bearer', 'BEARER', 'Bearer  '])('is accepted after the scheme %p', async (scheme) => {
    const response = await create(`${scheme} ${TOKEN}`);

    expect(response.status).toBe(200);
    expect(response.headers['www-authenticate']).toBeUndefined();
  });

  it('with the scope among others is accepted', async () => {
    expect((await create('Bearer writer')).status).toBe(200);
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
    const response = await create(`Bearer ${token}`);

    expect((response.body as { error?: number }).error ?? response.status).toBe(expected);
    expect(response.headers['retry-after']).toBe(expected === 503 ? '1' : undefined);
    expect(response.text).not.toContain('secret');
  });

  it('that fails causes error 500, with its error in the log and not in the answer', async () => {
    const response = await create('Bearer defect');

    expect(response.status).toBe(400);
    expect(response.body).toEqual({
      error: 500,
      message: 'The service failed. This is a defect of the service, not of the request.',
    });
    expect(service.log()).toEqual([
      expect.stringMatching(
        new RegExp(
          `^The request ${String(response.headers['x-request-id'])} failed: The verifier met defect\n` +
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
