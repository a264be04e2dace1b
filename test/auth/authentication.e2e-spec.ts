import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { ServiceUnavailableException } from '@nestjs/common';
import request from 'supertest';
import type { Principal } from '../../src/auth/principal.js';
import { REFUSAL_CHANNEL, type AuthenticationRefused } from '../../src/auth/refusals.js';
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

/** Accepts tokens named after their scopes, and fails for the token `defect`. */
class ScopedTokens extends TokenVerifier {
  override verify(token: string): Principal | undefined {
    if (token === 'defect') throw new Error(`The verifier met ${token}`, { cause: new Error('its cause') });
    const scopes = { writer: ['plants:read', 'plants:write'], reader: ['plants:read'], none: [] }[token];
    return scopes && { name: token, scopes };
  }
}

function create(service: Service, path = '/plants'): request.Test {
  return request(service.url).post(path).send({ id: 1, name: 'Monstera' });
}

describe('A bearer token', () => {
  let service: Service;

  beforeEach(async () => {
    service = await startService();
  });

  afterEach(() => service.close());

  it.each(['Bearer', 'bearer', 'BEARER', 'Bearer  '])('is accepted after the scheme %p', async (scheme) => {
    const response = await create(service).set('Authorization', `${scheme} ${TOKEN}`);

    expect(response.status).toBe(200);
  });

  it.each([
    ['no header', undefined],
    ['an empty header', ''],
    ['another scheme', 'Basic dGVzdHM6dGVzdHM='],
    ['only the scheme', 'Bearer'],
    ['only the token', TOKEN],
  ])('is missing with %s: error 401, with a challenge that names no error', async (_what, authorization) => {
    const attempt = create(service);

    const response = await (authorization === undefined ? attempt : attempt.set('Authorization', authorization));

    expect(response.status).toBe(400);
    expect(response.body).toEqual(UNAUTHORIZED);
    expect(response.headers['www-authenticate']).toBe('Bearer realm="plants"');
    expect(await service.rows()).toEqual([]);
  });

  it.each([
    ['a wrong token', `Bearer ${TOKEN}x`],
    ['a part of the token', `Bearer ${TOKEN.slice(1)}`],
    ['two tokens', `Bearer ${TOKEN} ${TOKEN}`],
    ['two credentials in one header', `Bearer ${TOKEN}, Bearer ${TOKEN}`],
    ['characters outside b64token', 'Bearer "token"'],
    ['a non-ASCII token', 'Bearer t\u00f6ken'],
  ])('is invalid with %s: error 401, with the challenge invalid_token', async (_what, authorization) => {
    const response = await create(service).set('Authorization', authorization);

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

  it('is valid whatever tokens the query and the body contain', async () => {
    const response = await request(service.url)
      .post('/plants?access_token=another')
      .set('Authorization', `Bearer ${TOKEN}`)
      .send({ id: 1, name: 'Monstera', access_token: 'another' });

    expect(response.status).toBe(200);
  });

  it.each(['/', '/docs', '/plants/1'])('is required for any path, such as %s', async (path) => {
    const response = await create(service, path);

    expect(response.body).toEqual(UNAUTHORIZED);
  });

  it.each(['get', 'head', 'put', 'delete', 'options'] as const)('is required for the method %s', async (method) => {
    const response = await request(service.url)[method]('/plants');

    expect(response.status).toBe(400);
    expect(response.headers['www-authenticate']).toBe('Bearer realm="plants"');
    expect(response.headers.allow).toBeUndefined();
  });
});

describe('A token with scopes', () => {
  let service: Service;

  beforeEach(async () => {
    service = await startService({ verifier: new ScopedTokens() });
  });

  afterEach(() => service.close());

  it('creates a plant if plants:write is among them', async () => {
    expect((await create(service).set('Authorization', 'Bearer writer')).status).toBe(200);
  });

  it.each(['reader', 'none'])('is refused with error 403 without plants:write (%s)', async (token) => {
    const response = await create(service).set('Authorization', `Bearer ${token}`);

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
    const response = await create(service, '/nothing').set('Authorization', 'Bearer none');

    expect((response.body as { error: number }).error).toBe(404);
  });
});

describe('A verifier that fails', () => {
  it('causes error 500, with its error in the log and not in the answer', async () => {
    const service = await startService({ verifier: new ScopedTokens() });
    try {
      const response = await create(service).set('Authorization', 'Bearer defect');

      expect(response.status).toBe(400);
      expect(response.headers['content-type']).toBe('application/json');
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
    } finally {
      await service.close();
    }
  });
});

describe('A refused request', () => {
  const CLIENT = { address: '127.0.0.1' };
  let service: Service;
  let refusals: AuthenticationRefused[];
  let lines: RequestMessage[];

  const noteRefusal = (message: unknown): void => void refusals.push(message as AuthenticationRefused);
  const noteLine = (message: unknown): void => void lines.push(message as RequestMessage);

  beforeEach(() => {
    refusals = [];
    lines = [];
    subscribe(REFUSAL_CHANNEL, noteRefusal);
    subscribe(REQUEST_CHANNEL, noteLine);
  });

  afterEach(async () => {
    unsubscribe(REFUSAL_CHANNEL, noteRefusal);
    unsubscribe(REQUEST_CHANNEL, noteLine);
    await service.close();
  });

  it('has its reason in its log line and in a diagnostics message, but not the token', async () => {
    service = await startService();
    await create(service);
    await create(service).set('Authorization', 'Bearer "token"');
    await create(service).set('Authorization', 'Bearer a-guess');
    await create(service).set('Authorization', `Bearer ${TOKEN}`);

    expect(refusals).toEqual(['missing', 'malformed', 'unknown'].map((reason) => ({ ...CLIENT, reason })));
    expect(lines.map(({ error, refusal }) => ({ error, refusal }))).toEqual([
      { error: 401, refusal: 'missing' },
      { error: 401, refusal: 'malformed' },
      { error: 401, refusal: 'unknown' },
      { error: undefined, refusal: undefined },
    ]);
    expect(JSON.stringify(lines)).not.toMatch(new RegExp(`token"|a-guess|${TOKEN}`));
  });

  it('has the holder of an expired token in both', async () => {
    const expires = new Date(Date.now() - 1);
    const digest = digestToken('an-old-token');
    service = await startService({ verifier: new StaticTokens([{ name: 'trainee', digest, expires }]) });

    await create(service).set('Authorization', 'Bearer an-old-token');

    expect(refusals).toEqual([{ ...CLIENT, reason: 'expired', principal: 'trainee' }]);
    expect(lines).toMatchObject([{ ...CLIENT, refusal: 'expired', principal: 'trainee' }]);
  });

  it('gets the same answer, however many were refused before', async () => {
    service = await startService();
    const answers = new Set<string>();
    for (let guess = 0; guess < 100; guess += 1) {
      const { status, headers, text } = await create(service).set('Authorization', `Bearer guess-${guess}`);
      const constant = { ...(headers as Record<string, string>), date: '', 'x-request-id': '' };
      answers.add(JSON.stringify({ status, constant, text }));
    }

    expect(answers.size).toBe(1);
    expect((await create(service).set('Authorization', `Bearer ${TOKEN}`)).status).toBe(200);
  });
});

describe('A verifier', () => {
  /** A verifier as an embedding application may write it. */
  class HostVerifier extends TokenVerifier {
    override verify(token: string): VerificationResult | Promise<VerificationResult> {
      switch (token) {
        case 'later':
          return Promise.resolve({ name: 'later', expires: new Date(Date.now() + 60_000) });
        case 'over':
          return { name: 'over', expires: new Date(Date.now() - 1) };
        case 'reason':
          return 'wrong-audience';
        case 'unavailable':
          throw new ContractException(503);
        case 'unavailable-to-nest':
          return Promise.reject(new ServiceUnavailableException('a secret'));
        case 'null':
          return JSON.parse('null') as undefined;
        default:
          return undefined;
      }
    }
  }

  it.each([
    ['later', 200],
    ['over', 401],
    ['reason', 401],
    ['nothing', 401],
    ['null', 401],
    ['unavailable', 503],
    ['unavailable-to-nest', 503],
  ])('decides the answer to the token %p: %i', async (token, expected) => {
    const service = await startService({ verifier: new HostVerifier() });
    try {
      const response = await create(service).set('Authorization', `Bearer ${token}`);

      expect((response.body as { error?: number }).error ?? response.status).toBe(expected);
      expect(response.headers['retry-after']).toBe(expected === 503 ? '1' : undefined);
      expect(response.text).not.toContain('secret');
    } finally {
      await service.close();
    }
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
    expect(await new TokenVerifiers([]).verify('any')).toBe('unknown');
  });
});

/** The requirements of RFC 6750 for a resource server that the tests above do not cover. */
describe('RFC 6750', () => {
  let service: Service;

  beforeEach(async () => {
    service = await startService({ verifier: new ScopedTokens() });
  });

  afterEach(() => service.close());

  it.each([
    ['§2: a token without its scheme is not a credential', TOKEN, 401],
    ['§2.1: credentials = "Bearer" 1*SP b64token, with -._~+/ in it', 'Bearer -._~+/', 401],
    ['§2.1: b64token ends in any number of =', 'Bearer writer=', 401],
    ['§2.1: = occurs only at the end', 'Bearer =writer', 401],
    ['§2.1: resource servers must support this method', 'Bearer writer', 200],
  ])('%s', async (_, authorization, expected) => {
    const response = await create(service).set('Authorization', authorization);

    expect((response.body as { error?: number }).error ?? response.status).toBe(expected);
  });

  it('§2.2, §2.3: tokens in a form-encoded body and in the query are ignored', async () => {
    const form = await request(service.url).post('/plants').type('form').send('access_token=writer');
    const query = await create(service, '/plants?access_token=writer');

    expect([form.body, query.body]).toEqual([UNAUTHORIZED, UNAUTHORIZED]);
  });

  it.each([
    ['no credentials', undefined, 'Bearer realm="plants"'],
    ['an invalid token', 'Bearer wrong', 'Bearer realm="plants", error="invalid_token"'],
    [
      'a token without the scope',
      'Bearer reader',
      'Bearer realm="plants", error="insufficient_scope", scope="plants:write"',
    ],
  ])('§3: the answer to %s has one challenge, with each attribute once', async (_, authorization, challenge) => {
    const attempt = create(service);
    const response = await (authorization === undefined ? attempt : attempt.set('Authorization', authorization));

    expect(response.headers['www-authenticate']).toBe(challenge);
    // §3 allows these characters in scope, error and error_description.
    expect(challenge).toMatch(/^Bearer( [a-z_]+="[\x20-\x21\x23-\x5b\x5d-\x7e]+",?)+$/);
  });

  it('§3: the answer to a valid token has no challenge', async () => {
    const response = await create(service).set('Authorization', 'Bearer writer');

    expect(response.headers['www-authenticate']).toBeUndefined();
  });

  it('§3.1: the challenge for a request without credentials has no error code', async () => {
    const response = await create(service);

    expect(response.headers['www-authenticate']).not.toContain('error');
    expect(response.body).toEqual(UNAUTHORIZED);
  });
});
