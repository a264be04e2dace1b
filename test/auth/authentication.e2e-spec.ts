import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setImmediate } from 'node:timers/promises';
import { ServiceUnavailableException } from '@nestjs/common';
import request from 'supertest';
import type { Principal } from '../../src/auth/principal.js';
import { AUTHENTICATION_REFUSED, type AuthenticationRefused } from '../../src/auth/refusals.js';
import { digestToken, StaticTokens } from '../../src/auth/static-tokens.js';
import { TokenVerifier, TokenVerifiers, type VerificationResult } from '../../src/auth/token-verifier.js';
import { ContractException } from '../../src/contract/contract.exception.js';
import { type Service, startService, TOKEN } from '../support/service.js';

const UNAUTHORIZED = {
  error: 401,
  message: 'A valid token is required: send the header "Authorization: Bearer <ACCESS_TOKEN>".',
};

/** Knows tokens by what they can do, and none that is called a defect. */
class ScopedTokens extends TokenVerifier {
  override verify(token: string): Principal | undefined {
    if (token === 'defect') throw new Error(`The verifier met ${token}`, { cause: new Error('its cause') });
    const scopes = { writer: ['plants:read', 'plants:write'], reader: ['plants:read'], nobody: [] }[token];
    return scopes && { name: token, scopes };
  }
}

function create(service: Service, path = '/plants'): request.Test {
  return request(service.url).post(path).send({ id: 1, name: 'Monstera' });
}

describe('the bearer token', () => {
  let service: Service;

  beforeEach(async () => {
    service = await startService();
  });

  afterEach(() => service.close());

  it.each(['Bearer', 'bearer', 'BEARER', 'Bearer  '])('is taken after the word %p, in any case', async (scheme) => {
    const response = await create(service).set('Authorization', `${scheme} ${TOKEN}`);

    expect(response.status).toBe(200);
  });

  it.each([
    ['no header', undefined],
    ['an empty header', ''],
    ['another scheme', 'Basic dGVzdHM6dGVzdHM='],
    ['the scheme alone', 'Bearer'],
    ['the token alone', TOKEN],
  ])('is missing with %s: 401, and the challenge names no error', async (_what, authorization) => {
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
    ['two headers in one', `Bearer ${TOKEN}, Bearer ${TOKEN}`],
    ['characters that no token has', 'Bearer "token"'],
    ['a token beyond ASCII', 'Bearer t\u00f6ken'],
  ])('is not valid with %s: 401, and the challenge says so', async (_what, authorization) => {
    const response = await create(service).set('Authorization', authorization);

    expect(response.status).toBe(400);
    expect(response.body).toEqual(UNAUTHORIZED);
    expect(response.headers['www-authenticate']).toBe('Bearer realm="plants", error="invalid_token"');
    expect(await service.rows()).toEqual([]);
  });

  it('is taken from no query, no body and no cookie', async () => {
    const response = await request(service.url)
      .post(`/plants?access_token=${TOKEN}`)
      .set('Cookie', `access_token=${TOKEN}`)
      .send({ id: 1, name: 'Monstera', access_token: TOKEN });

    expect(response.body).toEqual(UNAUTHORIZED);
    expect(await service.rows()).toEqual([]);
  });

  it('counts alone, whatever else the request says of tokens', async () => {
    const response = await request(service.url)
      .post('/plants?access_token=another')
      .set('Authorization', `Bearer ${TOKEN}`)
      .send({ id: 1, name: 'Monstera', access_token: 'another' });

    expect(response.status).toBe(200);
  });

  it.each(['/', '/docs', '/plants/1'])('is asked for before the path %s is looked at', async (path) => {
    const response = await create(service, path);

    expect(response.body).toEqual(UNAUTHORIZED);
  });

  it.each(['get', 'head', 'put', 'delete', 'options'] as const)(
    'is asked for before the method %s is',
    async (method) => {
      const response = await request(service.url)[method]('/plants');

      expect(response.status).toBe(400);
      expect(response.headers['www-authenticate']).toBe('Bearer realm="plants"');
      expect(response.headers.allow).toBeUndefined();
    },
  );
});

describe('scopes', () => {
  let service: Service;

  beforeEach(async () => {
    service = await startService({ verifier: new ScopedTokens() });
  });

  afterEach(() => service.close());

  it('that include plants:write let a plant be created', async () => {
    expect((await create(service).set('Authorization', 'Bearer writer')).status).toBe(200);
  });

  it.each(['reader', 'nobody'])('that lack it are refused with 403 (%s)', async (token) => {
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

  it('are of no account where there is nothing to do', async () => {
    const response = await create(service, '/nothing').set('Authorization', 'Bearer nobody');

    expect((response.body as { error: number }).error).toBe(404);
  });
});

describe('a verifier that fails', () => {
  it('is a defect: 500, and nothing of it in the answer', async () => {
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

describe('A stranger who tries tokens', () => {
  let service: Service;
  let refusals: AuthenticationRefused[];

  const note = (message: unknown): void => void refusals.push(message as AuthenticationRefused);

  beforeEach(() => {
    refusals = [];
    subscribe(AUTHENTICATION_REFUSED, note);
  });

  afterEach(async () => {
    unsubscribe(AUTHENTICATION_REFUSED, note);
    await service.close();
  });

  it('is noted with the reason and the address, and never with the token', async () => {
    service = await startService();
    await create(service);
    await create(service).set('Authorization', 'Bearer "token"');
    await create(service).set('Authorization', 'Bearer a-guess');

    const address = '127.0.0.1';
    expect(refusals).toEqual([
      { reason: 'missing', address },
      { reason: 'malformed', address },
      { reason: 'unknown', address },
    ]);
  });

  it('fills no log: the first try has a line, and those after it share one', async () => {
    service = await startService();
    for (let guess = 0; guess < 20; guess += 1) {
      await create(service).set('Authorization', `Bearer guess-${guess}`);
      await create(service).set('Authorization', 'Bearer "');
      await create(service);
    }
    expect(service.warnings()).toEqual(['Refused tokens: 1 unknown; the last one from 127.0.0.1']);

    await service.close();

    expect(service.warnings()).toEqual([
      'Refused tokens: 1 unknown; the last one from 127.0.0.1',
      'Refused tokens: 20 malformed, 19 unknown; the last one from 127.0.0.1',
    ]);
    service = await startService();
  });

  it('is answered late after too many, while a valid token is answered at once, from the same address', async () => {
    service = await startService({ refusedTokensPerMinute: 2 });
    const guess = (): Promise<unknown> => create(service).set('Authorization', 'Bearer a-guess').then();
    await guess();
    await guess();
    const order: string[] = [];

    const begin = performance.now();
    const late = guess().then(() => order.push('guess'));
    while (refusals.length < 3) await setImmediate();
    const response = await create(service).set('Authorization', `Bearer ${TOKEN}`);
    order.push('valid');
    await create(service);
    order.push('missing');
    await late;

    expect(response.status).toBe(200);
    expect(order).toEqual(['valid', 'missing', 'guess']);
    expect(performance.now() - begin).toBeGreaterThan(900);
  });

  it('learns the same, early or late', async () => {
    service = await startService({ refusedTokensPerMinute: 1 });
    const answers = [];
    for (const guess of ['one', 'two']) {
      const answer = await create(service).set('Authorization', `Bearer ${guess}`);
      const headers = { ...(answer.headers as Record<string, string>), date: '', 'x-request-id': '' };
      answers.push({ status: answer.status, headers, body: answer.body as unknown });
    }

    expect(answers[0]).toMatchObject({ body: UNAUTHORIZED });
    expect(answers[1]).toEqual(answers[0]);
  });
});

describe('A verifier', () => {
  /** What an embedding application may write. */
  class Verdicts extends TokenVerifier {
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
    ['unavailable', 503],
    ['unavailable-to-nest', 503],
  ])('decides about the token %p: %i', async (token, expected) => {
    const service = await startService({ verifier: new Verdicts() });
    try {
      const response = await create(service).set('Authorization', `Bearer ${token}`);

      expect((response.body as { error?: number }).error ?? response.status).toBe(expected);
      expect(response.headers['retry-after']).toBe(expected === 503 ? '1' : undefined);
      expect(response.text).not.toContain('secret');
    } finally {
      await service.close();
    }
  });

  it('stands beside others, and the first that knows a token decides', async () => {
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

/** The sentences of RFC 6750 that bind a resource server, as far as none of the tests above has them. */
describe('RFC 6750', () => {
  let service: Service;

  beforeEach(async () => {
    service = await startService({ verifier: new ScopedTokens() });
  });

  afterEach(() => service.close());

  it.each([
    ['§2: clients must not use more than one method a request: the others are not looked at', TOKEN, 401],
    ['§2.1: credentials = "Bearer" 1*SP b64token, with -._~+/ in it', 'Bearer -._~+/', 401],
    ['§2.1: b64token ends in any number of =', 'Bearer writer=', 401],
    ['§2.1: = stands at the end alone', 'Bearer =writer', 401],
    ['§2.1: resource servers must support this method', 'Bearer writer', 200],
  ])('%s', async (_, authorization, expected) => {
    const response = await create(service).set('Authorization', authorization);

    expect((response.body as { error?: number }).error ?? response.status).toBe(expected);
  });

  it('§2.2, §2.3: the form-encoded body and the query should not be used, and are not', async () => {
    const form = await request(service.url).post('/plants').type('form').send('access_token=writer');
    const query = await create(service, '/plants?access_token=writer');

    expect([form.body, query.body]).toEqual([UNAUTHORIZED, UNAUTHORIZED]);
  });

  it.each([
    ['no credentials', undefined, 'Bearer realm="plants"'],
    ['a token that is not valid', 'Bearer wrong', 'Bearer realm="plants", error="invalid_token"'],
    [
      'a token without the scope',
      'Bearer reader',
      'Bearer realm="plants", error="insufficient_scope", scope="plants:write"',
    ],
  ])('§3: %s are answered with one challenge, whose attributes come once each', async (_, authorization, challenge) => {
    const attempt = create(service);
    const response = await (authorization === undefined ? attempt : attempt.set('Authorization', authorization));

    expect(response.headers['www-authenticate']).toBe(challenge);
    // §3: scope, error and error_description are in these characters.
    expect(challenge).toMatch(/^Bearer( [a-z_]+="[\x20-\x21\x23-\x5b\x5d-\x7e]+",?)+$/);
  });

  it('§3: a request with a valid token is not challenged', async () => {
    const response = await create(service).set('Authorization', 'Bearer writer');

    expect(response.headers['www-authenticate']).toBeUndefined();
  });

  it('§3.1: without any information about authentication there is no error code, and no other information', async () => {
    const response = await create(service);

    expect(response.headers['www-authenticate']).not.toContain('error');
    expect(response.body).toEqual(UNAUTHORIZED);
  });
});
