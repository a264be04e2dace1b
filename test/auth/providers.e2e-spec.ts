import { JwtVerifier } from '../../src/auth/jwt-verifier.js';
import type { Principal } from '../../src/auth/token-verifier.js';
import { IdentityProvider, now, RSA, signToken } from '../support/identity-provider.js';

/**
 * A token with the claims that the provider's documentation shows, its answer, and a header `typ` that is not the
 * usual.
 */
type Token = [what: string, answer: 200 | 401 | 403, claims: object, typ?: string];

interface ProviderCase {
  readonly name: string;
  readonly issuer: string;
  /** The values of JWT_AUDIENCE: the API and, in the worst case, the client, which is the audience of ID tokens. */
  readonly audience: readonly string[];
  /** That of REQUIRED_SCOPE. */
  readonly scope: string;
  /** The header `typ` of its tokens. */
  readonly type?: string;
  readonly tokens: readonly Token[];
}

const PERSON = { sub: 'a7f3c1de-5b0e-4a37-9f57-2c1b7f3b8f11', name: 'Flora Gardener' };

const KEYCLOAK = {
  ...PERSON,
  jti: 'onrtac:2f6a',
  typ: 'Bearer',
  azp: 'garden-app',
  sid: '8c1f',
  acr: '1',
  aud: ['plants', 'account'],
  'allowed-origins': ['https://garden.example.com'],
  realm_access: { roles: ['offline_access', 'plants:write'] },
  resource_access: { plants: { roles: ['plants:write'] } },
  scope: 'openid profile plants:write',
  preferred_username: 'flora',
};

const AUTH0 = {
  sub: 'auth0|507f1f77bcf86cd799439020',
  aud: ['https://plants.example.com', 'https://garden.eu.auth0.com/userinfo'],
  azp: 'my_client_id',
  scope: 'openid profile plants:write',
};

const TENANT = '9188040d-6c67-4c5b-b112-36a304b66dad';
const APPLICATION = '6e74172b-be56-4843-9ff4-e66a39bb12e3';
const ENTRA = { ...PERSON, aio: 'AXQAi/8IAAAA', oid: '690222be-ff1a-4d56', rh: '0.AXEA', tid: TENANT, uti: 'bA5' };
const ENTRA_2 = { ...ENTRA, ver: '2.0', aud: APPLICATION, azp: '7b1c', azpacr: '0' };
const ENTRA_1 = { ...ENTRA, ver: '1.0', aud: `api://${APPLICATION}`, appid: '7b1c', appidacr: '0', upn: 'flora' };
/** An ID token has no `azp` and no `appid`. Its audience is that of the API, if one registration serves both. */
const ENTRA_ID = { ...ENTRA, aud: APPLICATION, nonce: '12345', roles: ['plants:write'] };

const OKTA = {
  ver: 1,
  jti: 'AT.0mP4JKAZX1iACIT4vbEDF7LpvDVjxypPMf0D7uX39RE',
  aud: 'api://default',
  cid: '0oabv6kx4qq6h1U5l0h7',
  uid: '00uid4BxXw6I6TV4m0g3',
  sub: 'flora@example.com',
};

const COGNITO = {
  ...PERSON,
  'cognito:groups': ['plants/write'],
  iss: 'https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_aBcDeFgHi',
  version: 2,
  client_id: '1example23456789',
  token_use: 'access',
  username: 'flora',
  jti: 'e2d1',
};

const PROVIDERS: readonly ProviderCase[] = [
  {
    name: 'Keycloak',
    issuer: 'https://keycloak.example.com/realms/garden',
    audience: ['plants', 'garden-app'],
    scope: 'plants:write',
    type: 'JWT',
    tokens: [
      ['an access token', 200, KEYCLOAK],
      ['an access token of an older version, with a nonce', 200, { ...KEYCLOAK, nonce: 'n' }],
      ['an access token with the type of RFC 9068', 200, KEYCLOAK, 'at+jwt'],
      ['a permission in a role alone', 403, { ...KEYCLOAK, scope: 'openid profile', roles: ['plants:write'] }],
      ['an ID token with a scope', 401, { ...KEYCLOAK, typ: 'ID', aud: 'garden-app', nonce: 'n' }],
      ['a logout token', 401, { ...KEYCLOAK, typ: 'Logout' }, 'logout+jwt'],
    ],
  },
  {
    name: 'Auth0',
    issuer: 'https://garden.eu.auth0.com/',
    audience: ['https://plants.example.com', 'my_client_id'],
    scope: 'plants:write',
    type: 'JWT',
    tokens: [
      ['an access token', 200, AUTH0],
      ['an access token of a machine', 200, { ...AUTH0, aud: 'https://plants.example.com', scope: 'plants:write' }],
      ['an access token with the profile of RFC 9068', 200, { ...AUTH0, client_id: 'c', jti: 'j' }, 'at+jwt'],
      ['a permission in RBAC alone', 403, { ...AUTH0, scope: 'openid', permissions: ['plants:write'] }],
      ['an ID token', 401, { ...PERSON, nickname: 'flora', aud: 'my_client_id', sid: 's', nonce: 'n' }],
    ],
  },
  {
    name: 'Entra, version 2',
    issuer: `https://login.microsoftonline.com/${TENANT}/v2.0`,
    audience: [APPLICATION],
    scope: 'plants:write',
    type: 'JWT',
    tokens: [
      ['an access token of a person', 200, { ...ENTRA_2, scp: 'User.Read plants:write' }],
      ['an access token of an application', 200, { ...ENTRA_2, azpacr: '1', roles: ['plants:write'] }],
      ['a person with a role, whose client lacks it', 403, { ...ENTRA_2, scp: 'profile', roles: ['plants:write'] }],
      ['an ID token with roles', 401, { ...ENTRA_ID, ver: '2.0' }],
    ],
  },
  {
    name: 'Entra, version 1',
    issuer: `https://sts.windows.net/${TENANT}/`,
    audience: [`api://${APPLICATION}`, APPLICATION],
    scope: 'plants:write',
    type: 'JWT',
    tokens: [
      ['an access token of a person', 200, { ...ENTRA_1, scp: 'plants:write' }],
      ['an access token of an application', 200, { ...ENTRA_1, appidacr: '1', roles: ['plants:write'] }],
      ['an ID token with roles', 401, { ...ENTRA_ID, ver: '1.0', unique_name: 'flora' }],
    ],
  },
  {
    name: 'Okta',
    issuer: 'https://dev-133337.okta.com/oauth2/default',
    audience: ['api://default', OKTA.cid],
    scope: 'plants:write',
    tokens: [
      ['an access token', 200, { ...OKTA, scp: ['openid', 'plants:write'] }],
      ['an access token of a machine', 200, { ...OKTA, sub: OKTA.cid, scp: ['plants:write'] }],
      ['a permission in a group alone', 403, { ...OKTA, scp: ['openid'], groups: ['plants:write'] }],
      ['an ID token with roles', 401, { ...PERSON, ver: 1, jti: 'ID.x', aud: OKTA.cid, roles: ['plants:write'] }],
    ],
  },
  {
    name: 'Cognito',
    issuer: COGNITO.iss,
    audience: ['another-client', COGNITO.client_id],
    scope: 'plants/write',
    tokens: [
      ['an access token', 200, { ...COGNITO, scope: 'openid plants/write' }],
      ['an access token of a machine', 200, { ...COGNITO, sub: COGNITO.client_id, scope: 'plants/write' }],
      ['an access token of another client', 401, { ...COGNITO, client_id: 'c', scope: 'plants/write' }],
      ['an access token of the sign-in pages', 403, { ...COGNITO, scope: 'aws.cognito.signin.user.admin' }],
      ['an ID token with a scope', 401, { ...COGNITO, aud: COGNITO.client_id, token_use: 'id', scope: 'plants/write' }],
    ],
  },
];

describe.each(PROVIDERS)('With the settings for $name', ({ issuer, audience, scope, type, tokens }) => {
  const provider = new IdentityProvider();
  let verifier: JwtVerifier;

  beforeAll(async () => {
    await provider.start([RSA]);
    verifier = new JwtVerifier({ issuer, audience, jwksUrl: new URL(`${provider.issuer}/jwks`) });
  });

  afterAll(() => provider.stop());

  it.each(tokens)('%s gets %d', async (_what, answer, claims, typ = type) => {
    const token = await signToken({ iat: now(), exp: now() + 300, ...claims, iss: issuer }, { typ });
    const result = await verifier.verify(token);

    if (answer === 401) expect(result).toMatchObject({ refused: 'invalid' });
    else expect((result as Principal).scopes.includes(scope)).toBe(answer === 200);
  });
});
