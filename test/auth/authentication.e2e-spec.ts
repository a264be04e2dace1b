import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { ServiceUnavailableException, UnauthorizedException } from '@nestjs/common';
import { REFUSAL_CHANNEL, type AuthenticationRefused } from '../../src/auth/authenticated-request.js';
import { digestToken, StaticTokens } from '../../src/auth/static-tokens.js';
import { FirstKnownVerifier } from '../../src/auth/first-known-verifier.js';
import type { VerificationResult } from '../../src/auth/token-verifier.js';
import { ContractException } from '../../src/contract/contract.exception.js';
import { TOKEN } from '../support/client.js';
import { sharedService } from '../support/service.js';

const CHALLENGE = 'Bearer realm="plants"';
const INVALID = `${CHALLENGE}, error="invalid_token"`;

/** A result that a verifier in JavaScript returns by mistake. */
let wrongResult: unknown;

/** The results that the verifier of an embedding application may have, by token. */
const RESULTS: Readonly<Record<string, () => VerificationResult | Promise<VerificationResult>>> = {
  writer: () => ({ name: 'writer', scopes: ['plants:read', 'plants:write'] }),
  reader: () => ({ name: 'reader', scopes: ['plants:read'] }),
  later: () => Promise.resolve({ name: 'later', expires: new Date(Date.now() + 60_000) }),
  over: () => ({ name: 'over', expires: new Date(Date.now() - 1) }),
  former: () => ({ name: 'host' }),
  'of-others': () => 'wrong-audience',
  unavailable: () => {
    throw new ContractException(503);
  },
  'unavailable-to-nest': () => Promise.reject(new ServiceUnavailableException('a secret')),
  'wrong-result': () => wrongResult as VerificationResult,
  defect: () => {
    throw new Error('The verifier met a defect', { cause: new Error('its cause') });
  },
};

const FIRST = new StaticTokens([
  { name: 'tests', digest: digestToken(TOKEN) },
  { name: 'leaver', digest: digestToken('former'), expires: new Date(0) },
]);

const refusals: AuthenticationRefused[] = [];
const noteRefusal = (message: unknown): void => void refusals.push(message as AuthenticationRefused);

/** The tokens that the second verifier was asked for. */
const asked: string[] = [];

const service = sharedService({
  verifier: new FirstKnownVerifier([
    FIRST,
    {
      verify: (token) => {
        asked.push(token);
        return RESULTS[token]?.();
      },
    },
  ]),
});

beforeAll(() => subscribe(REFUSAL_CHANNEL, noteRefusal));

beforeEach(async () => {
  refusals.length = 0;
  asked.length = 0;
  await service.store.query('DELETE FROM plants');
});

afterAll(() => void unsubscribe(REFUSAL_CHANNEL, noteRefusal));

/** Sends a plant with a value of the header Authorization, or without the header. */
async function create(authorization?: string, path = '/plants', headers: object = {}, body: object = {}) {
  const answer = await fetch(service.url + path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers, ...(authorization && { Authorization: authorization }) },
    body: JSON.stringify({ id: 1, name: 'Monstera', ...body }),
  });
  return { status: answer.status, body: (await answer.json()) as unknown, headers: answer.headers };
}

async function expectRefused(answer: ReturnType<typeof create>, error: number, message: string, challenge: string) {
  const { status, body, headers } = await answer;
  expect([status, body]).toEqual([400, { error, message }]);
  expect(headers.get('www-authenticate')).toBe(challenge);
  expect(await service.rows()).toEqual([]);
}

describe('A bearer token (RFC 6750)', () => {
  const message = 'A valid token is required: send the header "Authorization: Bearer <ACCESS_TOKEN>".';

  it.each([
    { what: 'no header', value: undefined, challenge: CHALLENGE, reason: 'missing' },
    { what: 'another scheme', value: 'Basic dGVzdHM6dGVzdHM=', challenge: CHALLENGE, reason: 'missing' },
    { what: 'two tokens', value: `Bearer ${TOKEN} ${TOKEN}`, challenge: INVALID, reason: 'malformed' },
    { what: 'other characters', value: 'Bearer "writer', challenge: INVALID, reason: 'malformed' },
    { what: 'an unknown token', value: 'Bearer -._~+/=', challenge: INVALID, reason: 'unknown' },
    { what: 'a scheme in lower case', value: 'bearer -._~+/=', challenge: INVALID, reason: 'unknown' },
    { what: 'a reason of the verifier', value: 'Bearer of-others', challenge: INVALID, reason: 'wrong-audience' },
    { what: 'an expired token', value: 'Bearer over', challenge: INVALID, reason: 'expired', principal: 'over' },
    {
      what: 'a token that the first verifier knows as expired',
      value: 'Bearer former',
      challenge: INVALID,
      reason: 'expired',
      principal: 'leaver',
    },
  ])(
    'is refused with $what: error 401, whose reason is in the log, but not the token',
    async ({ value, challenge, reason, principal }) => {
      await expectRefused(create(value), 401, message, challenge);

      expect(refusals).toEqual([{ address: '127.0.0.1', reason, principal }]);
      expect(JSON.stringify(refusals)).not.toMatch(/-\._~\+|"writer|former|dGVz|a-token/);
    },
  );

  it('is ignored in the query, the body and cookies', async () => {
    const token = { access_token: TOKEN };
    const headers = { Cookie: `access_token=${TOKEN}` };

    await expectRefused(create(undefined, `/plants?access_token=${TOKEN}`, headers, token), 401, message, CHALLENGE);
  });

  it('without the scope is refused with error 403', async () => {
    const challenge = `${CHALLENGE}, error="insufficient_scope", scope="plants:write"`;

    await expectRefused(
      create('Bearer reader'),
      403,
      'This token lacks the scope that the operation requires.',
      challenge,
    );
  });

  it('gets error 404 for an unknown path, whatever its scopes are', async () => {
    expect(await create('Bearer reader', '/nothing')).toMatchObject({ body: { error: 404 } });
  });

  it('is accepted beside a header whose value is the name of its own', async () => {
    expect(await create(`Bearer ${TOKEN}`, '/plants', { 'X-Signed-Headers': 'Authorization' })).toMatchObject({
      status: 200,
    });
  });

  it.each([`Bearer ${TOKEN}`, `bearer ${TOKEN}`, `Bearer   ${TOKEN}`, 'Bearer writer', 'Bearer later'])(
    'is accepted as %p',
    async (value) => {
      const { status, headers } = await create(value);

      expect(status).toBe(200);
      expect(headers.get('www-authenticate')).toBeNull();
      expect(refusals).toEqual([]);
    },
  );
});

describe('A verifier', () => {
  it.each(['writer', 'reader', 'over', 'none'])('is asked once for a request with the token %s', async (token) => {
    await create(`Bearer ${token}`);

    expect(asked).toEqual([token]);
  });

  it.each(['unavailable', 'unavailable-to-nest'])('that is %s causes error 503 with Retry-After', async (token) => {
    const { body, headers } = await create(`Bearer ${token}`);

    expect(body).toMatchObject({ error: 503 });
    expect(headers.get('retry-after')).toBe('1');
    expect(JSON.stringify(body)).not.toContain('secret');
  });

  it('that fails causes error 500, with its error in the log and not in the answer', async () => {
    const { body, headers } = await create('Bearer defect');

    expect(body).toEqual({
      error: 500,
      message: 'The service failed. This is a defect of the service, not of the request.',
    });
    const [first, ...stack] = service.log().join('').split('\n');
    expect(first).toBe(`The request ${headers.get('x-request-id') ?? ''} failed: The verifier met a defect`);
    expect(stack[0]).toBe('Error: The verifier met a defect');
    expect(stack).toContain('Caused by: Error: its cause');
  });

  it.each([undefined, null, 0, ''])(
    'that rejects with %p causes error 500, because it has not decided',
    async (value) => {
      wrongResult = { then: (_resolve: unknown, reject: (value: unknown) => void) => reject(value) };
      const { body } = await create('Bearer wrong-result');

      expect(body).toMatchObject({ error: 500 });
      expect(service.log().join('')).toContain(`The verifier of tokens has thrown ${String(value)}`);
    },
  );

  it.each<{ what: string; result: unknown; words: string }>([
    { what: 'scopes in one text', result: { name: 'a', scopes: 'no-plants:write-x' }, words: 'scopes that are no' },
    { what: 'scopes in a Set', result: { name: 'a', scopes: new Set(['plants:write']) }, words: 'scopes that are no' },
    { what: 'scopes that are null', result: { name: 'a', scopes: null }, words: 'scopes that are no' },
    { what: 'a scope in an array', result: { name: 'a', scopes: [['plants:write']] }, words: 'scopes that are no' },
    { what: 'an expiry that is a number', result: { name: 'a', expires: 9e15 }, words: 'an expiry that is no' },
    { what: 'an expiry without a time', result: { name: 'a', expires: new Date(NaN) }, words: 'an expiry that is no' },
    { what: 'no name', result: { scopes: [] }, words: 'an object without a name' },
    { what: 'a principal in an array', result: [{ name: 'a' }], words: 'an object without a name' },
    { what: 'an error', result: new UnauthorizedException(), words: 'an Error' },
    { what: 'scope as in a JWT', result: { name: 'a', scope: 'read' }, words: 'an object with scope instead' },
    { what: 'a text that is no reason', result: 'ok', words: 'something else of type string' },
    { what: 'true', result: true, words: 'something else of type boolean' },
    { what: 'null', result: null, words: 'something else of type object' },
  ])('that returns $what causes error 500, with the reason in the log', async ({ result, words }) => {
    wrongResult = result;
    const { body } = await create('Bearer wrong-result');

    expect(body).toMatchObject({ error: 500 });
    expect(service.log().at(-1)).toContain(
      `must return a principal, an ExpiredToken, a RefusalReason or undefined, and not ${words}`,
    );
    expect(await service.rows()).toEqual([]);
  });
});
