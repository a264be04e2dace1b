import request from 'supertest';
import type { Principal } from '../src/auth/principal.js';
import { TokenVerifier } from '../src/auth/token-verifier.js';
import { type Service, startService, TOKEN } from './service.js';

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
      message: 'This token may not do this: it lacks the scope that the operation requires.',
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
        expect.stringMatching(/^Error: The verifier met defect\n(?: {4}at .*\n)+Caused by: Error: its cause\n/),
      ]);
    } finally {
      await service.close();
    }
  });
});
