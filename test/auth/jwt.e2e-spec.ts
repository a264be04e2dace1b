import { jest } from '@jest/globals';
import type { JwtSettings } from '../../src/auth/access-token.js';
import { JwtVerifier } from '../../src/auth/jwt-verifier.js';
import { AUDIENCE, EC, IdentityProvider, newKey, now, RSA, signToken } from '../support/identity-provider.js';
import { ask } from '../support/raw-client.js';
import { startService } from '../support/service.js';

// providers.e2e-spec.ts has the tokens of five providers, and jwt-attacks.e2e-spec.ts has forged ones.

const provider = new IdentityProvider();
let verifier: JwtVerifier;

beforeAll(() => provider.start([RSA, EC]));

beforeEach(() => {
  verifier = newVerifier();
});

afterAll(() => provider.stop());

function newVerifier(settings: Partial<JwtSettings> = {}): JwtVerifier {
  return new JwtVerifier({ issuer: provider.issuer, audience: AUDIENCE, ...settings });
}

/** Verifies a token with these changes. */
async function verify(claims: Record<string, unknown>, header: Record<string, unknown> = {}): Promise<unknown> {
  return verifier.verify(await provider.sign(claims, header));
}

describe('A client with an access token of a real provider', () => {
  it('creates plants with the scope plants:write, and gets error 403 without it', async () => {
    const service = await startService({ verifier });

    expect(await ask(service.url, await provider.token('plants:read'))).toBe(403);
    expect(await service.rows()).toEqual([]);
    const token = await provider.token('plants:write');
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(service.url, token)));
    expect(new Set(answers)).toEqual(new Set([200]));
    await service.close();
  });
});

describe('The holder of an access token', () => {
  it.each<{ what: string; claims: Record<string, unknown>; name?: string; scopes: string[] }>([
    { what: 'sub and client_id', claims: { client_id: 'plants' }, name: 'ci', scopes: ['plants:write'] },
    { what: 'client_id', claims: { sub: {}, client_id: 'plants' }, name: 'plants', scopes: ['plants:write'] },
    { what: 'iss alone', claims: { sub: undefined }, scopes: ['plants:write'] },
    { what: 'an empty scope beside scp', claims: { scope: '', scp: 'plants:write' }, name: 'ci', scopes: [] },
    { what: 'scopes in an object', claims: { scope: { 'plants:write': 1 } }, name: 'ci', scopes: [] },
    { what: 'a list in a list', claims: { scope: ['a', ['plants:write']] }, name: 'ci', scopes: ['a'] },
    {
      what: 'roles in one text, and a client',
      claims: { scope: undefined, roles: 'plants:read plants:write', azp: 'ci' },
      name: 'ci',
      scopes: ['plants:read', 'plants:write'],
    },
  ])('with $what has a name and scopes', async ({ claims, name = provider.issuer, scopes }) => {
    expect(await verify(claims)).toEqual({ name, scopes });
  });
});

describe('An access token', () => {
  it.each<{ what: string; claims?: () => object; header?: Record<string, unknown> }>([
    { what: 'exp a little in the past', claims: () => ({ exp: now() - 25 }) },
    { what: 'nbf a little in the future', claims: () => ({ nbf: now() + 29 }) },
    { what: 'the type as a complete media type', header: { typ: 'application/AT+JWT' } },
  ])('may have $what', async ({ claims, header }) => {
    expect(await verify({ ...claims?.() }, header)).toMatchObject({ name: 'ci' });
  });

  it.each(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'])(
    'may be signed with %s',
    async (alg) => {
      // To make an RSA key takes up to half a second.
      const key = /^[RP]S/.test(alg) ? { ...RSA, alg, kid: 'another' } : await newKey(alg, 'another');
      const published = Object.entries(key).filter(([name]) => !['d', 'p', 'q', 'dp', 'dq', 'qi'].includes(name));
      const body = JSON.stringify({ keys: [Object.fromEntries(published)] });
      provider.reply = (path) => (path === '/jwks' ? { body } : {});

      expect(await verifier.verify(await signToken(provider.claims(), {}, key))).toMatchObject({ name: 'ci' });
      provider.reply = () => ({});
    },
  );

  it.each<{ settings: Partial<JwtSettings>; accepted: (string | undefined)[] }>([
    { settings: {}, accepted: ['at+jwt', 'JWT', undefined] },
    { settings: { type: 'JWT' }, accepted: ['at+jwt', 'JWT', undefined] },
    { settings: { type: 'at+jwt' }, accepted: ['at+jwt'] },
  ])('has one of the types that $settings accepts', async ({ settings, accepted }) => {
    verifier = newVerifier(settings);
    const types = ['at+jwt', 'JWT', undefined, 'logout+jwt'];
    const results = await Promise.all(types.map((typ) => verify({}, { typ })));

    expect(types.filter((_typ, index) => 'name' in (results[index] as object))).toEqual(accepted);
  });

  it('that has expired is refused with its holder, unless its signature is wrong', async () => {
    const token = await provider.sign({ exp: now() - 31 });
    const forged = token.replace(/[^.]+$/, 'A'.repeat(342));

    expect(await verifier.verify(token)).toEqual({ refused: 'expired', detail: 'its holder is ci' });
    expect(await verifier.verify(forged)).toEqual({ refused: 'invalid', detail: 'signature verification failed' });
  });

  it('is verified once in many requests, because that takes as long as a create', async () => {
    const verifications = jest.spyOn(crypto.subtle, 'verify');
    const token = await provider.sign();
    for (let request = 0; request < 3; request += 1) {
      expect(await verifier.verify(token)).toMatchObject({ name: 'ci' });
    }

    expect(verifications).toHaveBeenCalledTimes(1);
    verifications.mockRestore();
  });

  it('is not taken for a token with the same claims and another signature', async () => {
    const token = await provider.sign();
    expect(await verifier.verify(token)).toMatchObject({ name: 'ci' });

    const forged = token.replace(/[^.]+$/, (signature) => 'A'.repeat(signature.length));
    expect(await verifier.verify(forged)).toEqual({ refused: 'invalid', detail: 'signature verification failed' });
  });

  it('expires also while it is remembered', async () => {
    const token = await provider.sign();
    expect(await verifier.verify(token)).toMatchObject({ name: 'ci' });

    jest.useFakeTimers({ now: Date.now() + 331_000, doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
    expect(await verifier.verify(token)).toMatchObject({ refused: 'expired' });
    jest.useRealTimers();
  });

  it.each<{ claims: Record<string, unknown>; typ?: string; detail: string }>([
    { claims: { iss: 'https://elsewhere' }, detail: 'iss is "https://elsewhere", required: "<issuer>"' },
    { claims: { iss: undefined }, detail: 'iss is missing, required: "<issuer>"' },
    { claims: { iss: `\u001b${'a'.repeat(300)}` }, detail: `iss is "\\u001b${'a'.repeat(193)}, required: "<issuer>"` },
    { claims: { aud: ['account', 'é'] }, detail: `aud is ["account","?"], required: "${AUDIENCE}"` },
    { claims: { aud: undefined }, detail: `aud is missing, required: "${AUDIENCE}"` },
    { claims: { aud: 'other', client_id: AUDIENCE }, detail: `aud is "other", required: "${AUDIENCE}"` },
    { claims: { aud: null, client_id: AUDIENCE }, detail: `aud is null, required: "${AUDIENCE}"` },
    { claims: { aud: undefined, client_id: 'ci' }, detail: `client_id is "ci", required: "${AUDIENCE}"` },
    { claims: {}, typ: 'logout+jwt', detail: 'typ is "logout+jwt", required: at+jwt, JWT or none' },
    { claims: { token_use: 'id' }, detail: 'token_use is "id": it is an ID token, required: an access token' },
    { claims: { typ: 'ID' }, detail: 'the claim typ is "ID": it is an ID token, required: an access token' },
    {
      claims: { scope: undefined, roles: ['plants:write'] },
      detail:
        'there is no scope, no scp, and no roles beside azp or appid: it is an ID token, or nothing was granted to it',
    },
  ])('is refused with what it has and what is required: $detail', async ({ claims, typ = 'JWT', detail }) => {
    const expected = detail.replace('<issuer>', provider.issuer);

    expect(await verify(claims, { typ })).toEqual({ refused: 'invalid', detail: expected });
  });
});

describe('JwtVerifier', () => {
  it('leaves tokens that are no JWT to other verifiers', async () => {
    expect(await verifier.verify('a-token')).toBeUndefined();
  });

  it.each(['issuer', 'audience'])('needs the setting %s, which JavaScript may leave out', (name) => {
    expect(() => newVerifier({ [name]: undefined })).toThrow('issuer and audience are required');
  });
});
