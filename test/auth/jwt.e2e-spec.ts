import { jest } from '@jest/globals';
import type { JwtSettings } from '../../src/auth/jwt-settings.js';
import { JwtVerifier } from '../../src/auth/jwt-verifier.js';
import { create, TOKEN } from '../support/client.js';
import { AUDIENCE, EC, JwtService, newKey, now, RSA } from '../support/identity-provider.js';
import { startService } from '../support/service.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';
import { until } from '../support/until.js';

const directory = ServiceDirectory.ofEachTest();

let jwt: JwtService;

beforeEach(async () => {
  jwt = await JwtService.start();
});

afterEach(async () => {
  jest.restoreAllMocks();
  await jwt.stop();
});

describe('A client with an access token of a real provider', () => {
  it('creates plants with the scope plants:write, and gets error 403 without it', async () => {
    expect(await jwt.create(await jwt.provider.token('plants:read'))).toBe(403);
    expect(await jwt.service.rows()).toEqual([]);
    const token = await jwt.provider.token('plants:write');
    const answers = await Promise.all(Array.from({ length: 20 }, () => jwt.create(token)));

    expect(new Set(answers)).toEqual(new Set([200]));
    const requests = jwt.provider.requests.filter((path) => path !== '/token');
    expect(requests).toEqual(['/.well-known/openid-configuration', '/jwks']);
  });
});

describe('The holder of a token', () => {
  it.each<{ claims: object; name?: string }>([
    { claims: { sub: 'ci', client_id: 'plants' }, name: 'ci' },
    { claims: { sub: undefined, client_id: 'plants' }, name: 'plants' },
    { claims: { sub: {} } },
  ])('with $claims has the name $name, or that of the issuer', async ({ claims, name }) => {
    const { issuer } = jwt.provider;

    expect(await jwt.verifier.verify(await jwt.sign(jwt.claims({ ...claims })))).toEqual({
      name: name ?? issuer,
      issuer,
      claim: 'scope',
      scopes: ['plants:write'],
    });
  });
});

describe('An access token', () => {
  it.each<{ what: string; claims?: () => object; header?: object; answer: number }>([
    { what: 'exp a little in the past', claims: () => ({ exp: now() - 25 }), answer: 200 },
    { what: 'nbf a little in the future', claims: () => ({ nbf: now() + 29 }), answer: 200 },
    { what: 'the type as a complete media type', header: { typ: 'application/AT+JWT' }, answer: 200 },
    { what: 'several audiences', claims: () => ({ aud: ['https://other.example.com', AUDIENCE] }), answer: 200 },
    { what: 'an audience beside a client', claims: () => ({ aud: 'other', client_id: AUDIENCE }), answer: 401 },
    { what: 'an audience that is null', claims: () => ({ aud: null, client_id: AUDIENCE }), answer: 401 },
    { what: 'no audience, but the client', claims: () => ({ aud: undefined, client_id: AUDIENCE }), answer: 200 },
    { what: 'several scopes', claims: () => ({ scope: 'openid plants:write' }), answer: 200 },
    { what: 'a list of scopes', claims: () => ({ scope: ['openid', 'plants:write'] }), answer: 200 },
    { what: 'scp as a text', claims: () => ({ scope: undefined, scp: 'openid plants:write' }), answer: 200 },
    { what: 'roles without a client', claims: () => ({ scope: undefined, roles: ['plants:write'] }), answer: 401 },
    {
      what: 'roles as a text, and a client',
      claims: () => ({ scope: undefined, roles: 'plants:write', azp: 'ci' }),
      answer: 200,
    },
    { what: 'no claim of permission', claims: () => ({ scope: undefined }), answer: 401 },
    { what: 'an empty scope beside others', claims: () => ({ scope: '', scp: 'plants:write' }), answer: 403 },
    { what: 'a scope that is null beside others', claims: () => ({ scope: null, scp: 'plants:write' }), answer: 403 },
    { what: 'scopes in an object', claims: () => ({ scope: { 'plants:write': 'plants:write' } }), answer: 403 },
    { what: 'a list with a list', claims: () => ({ scope: [['plants:write']] }), answer: 403 },
    { what: 'a scope that starts with the required one', claims: () => ({ scope: 'plants:writer' }), answer: 403 },
  ])('with $what gets the answer $answer', async ({ claims, header, answer }) => {
    expect(await jwt.create(await jwt.sign(jwt.claims({ ...claims?.() }), { ...header }))).toBe(answer);
  });

  it.each(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'])(
    'may be signed with %s',
    async (alg) => {
      // To make an RSA key takes up to half a second.
      const key = /^[RP]S/.test(alg) ? { ...RSA, alg, kid: 'another' } : await newKey(alg, 'another');
      const published = Object.entries(key).filter(([name]) => !['d', 'p', 'q', 'dp', 'dq', 'qi'].includes(name));
      const body = JSON.stringify({ keys: [Object.fromEntries(published)] });
      jwt.provider.reply = (path) => (path === '/jwks' ? { body } : {});

      expect(await jwt.create(await jwt.sign(jwt.claims(), {}, key))).toBe(200);
    },
  );

  it.each<{ settings: Partial<JwtSettings>; answers: number[] }>([
    { settings: {}, answers: [200, 200, 200, 401] },
    { settings: { type: 'JWT' }, answers: [200, 200, 200, 401] },
    { settings: { type: 'at+jwt' }, answers: [200, 401, 401, 401] },
  ])('has one of the types that $settings accepts', async ({ settings, answers }) => {
    const verifier = new JwtVerifier({ issuer: jwt.provider.issuer, audience: AUDIENCE, ...settings });
    const other = await startService({ verifier });
    const answersNow = ['at+jwt', 'JWT', undefined, 'logout+jwt'].map(async (typ) =>
      jwt.create(await jwt.sign(jwt.claims(), { typ }, EC), other),
    );

    expect(await Promise.all(answersNow)).toEqual(answers);
    await other.close();
  });

  it('that has expired is refused with the name of its holder, unless its signature is wrong', async () => {
    const token = await jwt.sign(jwt.claims({ sub: 'ci', exp: now() - 31 }));
    const forged = token.replace(/[^.]+$/, 'A'.repeat(342));

    for (const expired of [token, forged]) expect(await jwt.create(expired)).toBe(401);
    expect(jwt.refusals).toEqual([
      { refusal: 'expired', detail: undefined, principal: 'ci' },
      { refusal: 'invalid', detail: 'signature verification failed', principal: undefined },
    ]);
  });

  it('expires also while it is remembered', async () => {
    const token = await jwt.sign(jwt.claims({ exp: now() - 28 }));
    expect(await jwt.create(token)).toBe(200);

    await until('the token is refused', async () => (await jwt.create(token)) === 401);
    expect(jwt.refusals).toMatchObject([{ refusal: 'expired', principal: 'ci' }]);
  });

  it('has its issuer in the log, which tells its subject from a static token of the same name', async () => {
    const { issuer } = jwt.provider;
    const { service, url } = await directory.start({ ...WITH_TOKEN, JWT_ISSUER: issuer, JWT_AUDIENCE: AUDIENCE });
    const claims = jwt.claims({ sub: 'token-1' });
    const tokens = [TOKEN, await jwt.sign(claims), await jwt.sign({ ...claims, exp: now() - 31 })];
    for (const token of tokens) await create(url, undefined, token);
    await create(url, undefined, await jwt.sign({ ...claims, scope: 'openid profile' }));
    await service.stop();

    const lines = service.lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    const requests = lines.filter(({ method }) => method === 'POST');
    expect(requests).toMatchObject([
      { principal: 'token-1' },
      { principal: 'token-1', issuer },
      { error: 401, principal: 'token-1', issuer, refusal: 'expired' },
      { error: 403, principal: 'token-1', issuer, detail: 'scope is "openid profile", required: "plants:write"' },
    ]);
    expect(requests[0]?.issuer).toBeUndefined();
  });
});

describe('A refused token', () => {
  it.each<{ claims: Record<string, unknown>; typ?: string; detail: string }>([
    { claims: { iss: 'https://elsewhere' }, detail: 'iss is "https://elsewhere", required: "<issuer>"' },
    { claims: { iss: undefined }, detail: 'iss is missing, required: "<issuer>"' },
    { claims: { iss: `\u001b${'a'.repeat(300)}` }, detail: `iss is "\\u001b${'a'.repeat(193)}, required: "<issuer>"` },
    { claims: { aud: ['account', 'é'] }, detail: `aud is ["account","?"], required: "${AUDIENCE}"` },
    { claims: { aud: undefined }, detail: `aud is missing, required: "${AUDIENCE}"` },
    { claims: { aud: undefined, client_id: 'ci' }, detail: `client_id is "ci", required: "${AUDIENCE}"` },
    { claims: {}, typ: 'logout+jwt', detail: 'typ is "logout+jwt", required: at+jwt, JWT or none' },
    { claims: { token_use: 'id' }, detail: 'token_use is "id": it is an ID token, required: an access token' },
    { claims: { typ: 'ID' }, detail: 'the claim typ is "ID": it is an ID token, required: an access token' },
    {
      claims: { scope: undefined },
      detail:
        'there is no scope, no scp, and no roles beside azp or appid: it is an ID token, or nothing was granted to it',
    },
    {
      claims: { scope: undefined, scp: ['openid', 'email'] },
      detail: 'scp is "openid email", required: "plants:write"',
    },
  ])('is logged with what it has and what is required: $detail', async ({ claims, typ = 'JWT', detail }) => {
    await jwt.create(await jwt.sign(jwt.claims(claims), { typ }));

    expect(jwt.details).toEqual([detail.replace('<issuer>', jwt.provider.issuer)]);
  });
});
