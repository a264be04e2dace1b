import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { ServiceUnavailableException, UnauthorizedException } from '@nestjs/common';
import request, { type Response } from 'supertest';
import { digestToken, StaticTokens } from '../../src/auth/static-tokens.js';
import type { VerificationResult } from '../../src/auth/token-verifier.js';
import { ContractException } from '../../src/contract/contract.exception.js';
import { ERROR_TABLE, type ErrorNumber } from '../../src/contract/error-table.js';
import { TOKEN } from '../support/client.js';
import { sharedService } from '../support/service.js';

const CHALLENGE = 'Bearer realm="plants"';
const INVALID = `${CHALLENGE}, error="invalid_token"`;

/** A result that a verifier in JavaScript returns by mistake. */
let wrongResult: unknown;

/** The results that the verifier of an embedding application may have, by token. */
const RESULTS: Readonly<Record<string, () => VerificationResult | Promise<VerificationResult>>> = {
  writer: () => ({ name: 'writer', scopes: ['plants:read', 'plants:write'] }),
  reader: () => ({ name: 'reader', scopes: ['plants:read', 'plants:writer'] }),
  administrator: () => Promise.resolve({ name: 'administrator', scopes: 'all' }),
  'of-others': () => ({ refused: 'invalid', detail: 'it is for others' }),
  unavailable: () => {
    throw new ContractException(503);
  },
  'unavailable-to-nest': () => Promise.reject(new ServiceUnavailableException('a secret')),
  'wrong-result': () => wrongResult as VerificationResult,
  defect: () => {
    throw new Error('The verifier met a defect');
  },
};

const STATIC = new StaticTokens([
  { name: 'tests', digest: digestToken(TOKEN) },
  { name: 'leaver', digest: digestToken('former'), expires: new Date(0) },
]);

/** The events of all answers. */
const answers: object[] = [];
const noteAnswer = (message: unknown): void => void answers.push(message as object);

/** The tokens that the verifier was asked for. */
const asked: string[] = [];

const service = sharedService({
  verifier: {
    verify(token) {
      asked.push(token);
      return RESULTS[token]?.() ?? STATIC.verify(token);
    },
  },
});

beforeAll(() => subscribe('plant-store:answer', noteAnswer));

beforeEach(async () => {
  answers.length = 0;
  asked.length = 0;
  await service.store.query('DELETE FROM plants');
});

afterAll(() => void unsubscribe('plant-store:answer', noteAnswer));

/** Sends a plant with a value of the header Authorization, or without the header. */
function create(authorization?: string, path = '/plants') {
  const plant = request(service.server).post(path).send({ id: 1, name: 'Monstera', access_token: TOKEN });
  return authorization === undefined ? plant : plant.set('Authorization', authorization);
}

async function expectRefused({ status, body, headers }: Response, error: ErrorNumber, challenge: string) {
  expect([status, body]).toEqual([400, { error, message: ERROR_TABLE[error].message }]);
  expect(headers['www-authenticate']).toBe(challenge);
  expect(await service.rows()).toEqual([]);
}

describe('A bearer token (RFC 6750)', () => {
  const required = 'required: Bearer, a space, and one token';

  it.each<[what: string, value: string | undefined, challenge: string, refusal: string, detail: string | undefined]>([
    ['no header', undefined, CHALLENGE, 'missing', undefined],
    ['Basic, as from a netrc', 'Basic dGVzdHM6', CHALLENGE, 'malformed', required],
    ['the token alone', 'a-token-of-somebody', CHALLENGE, 'malformed', required],
    ['two tokens without their scheme', 'a-token-of-somebody another', CHALLENGE, 'malformed', required],
    ['two tokens', `Bearer ${TOKEN} ${TOKEN}`, INVALID, 'malformed', required],
    ['other characters', 'Bearer "writer', INVALID, 'malformed', 'no token has such characters'],
    ['an unknown token', 'Bearer -._~+/=', INVALID, 'unknown', undefined],
    ['a scheme in lower case', 'bearer -._~+/=', INVALID, 'unknown', undefined],
    ['a refusal of the verifier', 'Bearer of-others', INVALID, 'invalid', 'it is for others'],
    ['an expired token', 'Bearer former', INVALID, 'expired', 'its holder is leaver'],
  ])(
    'is refused with %s: error 401, whose reason is in the log, but not the token',
    async (_what, value, challenge, refusal, detail) => {
      await expectRefused(await create(value), 401, challenge);

      expect(answers).toMatchObject([{ error: 401, refusal, detail, principal: undefined }]);
      expect(JSON.stringify(answers)).not.toMatch(/-\._~\+|"writer|former|dGVz|a-token/);
    },
  );

  it('is ignored in the query, the body and cookies', async () => {
    const answer = create(undefined, `/plants?access_token=${TOKEN}`).set('Cookie', `access_token=${TOKEN}`);

    await expectRefused(await answer, 401, CHALLENGE);
  });

  it('without the scope is refused with error 403, and the log says which scopes it has', async () => {
    const challenge = `${CHALLENGE}, error="insufficient_scope", scope="plants:write"`;

    await expectRefused(await create('Bearer reader'), 403, challenge);
    const detail = 'the scopes are "plants:read plants:writer", required: "plants:write"';
    expect(answers).toMatchObject([{ error: 403, principal: 'reader', refusal: undefined, detail }]);
  });

  it('gets error 404 for an unknown path, whatever its scopes are', async () => {
    expect(await create('Bearer reader', '/nothing')).toMatchObject({ body: { error: 404 } });
  });

  it.each([`Bearer ${TOKEN}`, `bearer ${TOKEN}`, `Bearer   ${TOKEN}`, 'Bearer writer', 'Bearer administrator'])(
    'is accepted as %p',
    async (value) => {
      const { headers } = await create(value).expect(200);

      expect(headers).not.toHaveProperty('www-authenticate');
      expect(answers).toMatchObject([{ refusal: undefined, detail: undefined }]);
    },
  );
});

describe('A verifier', () => {
  const DEFECT = { error: 500, message: ERROR_TABLE[500].message };

  it.each(['writer', 'reader', 'none'])('is asked once for a request with the token %s', async (token) => {
    await create(`Bearer ${token}`);

    expect(asked).toEqual([token]);
  });

  it.each(['unavailable', 'unavailable-to-nest'])('that is %s causes error 503 with Retry-After', async (token) => {
    const refusal = { error: 503, message: ERROR_TABLE[503].message };

    await create(`Bearer ${token}`).expect('Retry-After', '1').expect(400, refusal);
  });

  it('that fails causes error 500, with its error in the log and not in the answer', async () => {
    await create('Bearer defect').expect(400, DEFECT);

    expect(service.log().at(-1)).toContain('failed: The verifier met a defect\n');
  });

  it.each<{ what: string; result: unknown }>([
    { what: 'no scopes', result: { name: 'a' } },
    { what: 'scopes in one text', result: { name: 'a', scopes: 'plants:write' } },
    { what: 'no name', result: { scopes: ['plants:write'] } },
    { what: 'an error', result: new UnauthorizedException() },
    { what: 'a reason alone', result: 'expired' },
    { what: 'a refusal with another reason', result: { refused: 'ok' } },
    { what: 'true', result: true },
  ])('that returns $what causes error 500, with the reason in the log', async ({ result }) => {
    wrongResult = result;

    await create('Bearer wrong-result').expect(400, DEFECT);

    expect(service.log().at(-1)).toContain('TokenVerifier.verify must return a principal with name and scopes');
    expect(await service.rows()).toEqual([]);
  });
});
