import { JwtVerifier } from '../../src/auth/jwt-verifier.js';
import { IdentityProvider, now, RSA, signToken } from '../support/identity-provider.js';
import { ask } from '../support/raw-client.js';
import { type Service, startService } from '../support/service.js';

/** A token with the header and the claims that the provider's documentation shows. */
interface Token {
  readonly what: string;
  readonly typ?: string;
  readonly claims: object;
  readonly answer: number;
}

interface ProviderCase {
  readonly name: string;
  readonly issuer: string;
  /** The values of JWT_AUDIENCE: the API and, in the worst case, the client, which is the audience of ID tokens. */
  readonly audience: readonly string[];
  /** Defaults to that of REQUIRED_SCOPE. */
  readonly scope?: string;
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
    tokens: [
      { what: 'an access token', typ: 'JWT', claims: KEYCLOAK, answer: 200 },
      {
        what: 'an access token of an older version, with a nonce',
        typ: 'JWT',
        claims: { ...KEYCLOAK, nonce: 'n' },
        answer: 200,
      },
      { what: 'an access token with the type of RFC 9068', typ: 'at+jwt', claims: KEYCLOAK, answer: 200 },
      {
        what: 'an access token with the permission in a role alone',
        typ: 'JWT',
        claims: { ...KEYCLOAK, scope: 'openid profile', roles: ['plants:write'] },
        answer: 403,
      },
      {
        what: 'an ID token to which a mapper adds roles and a scope',
        typ: 'JWT',
        claims: { ...KEYCLOAK, typ: 'ID', aud: 'garden-app', nonce: 'n', roles: ['plants:write'] },
        answer: 401,
      },
      { what: 'a logout token', typ: 'logout+jwt', claims: { ...KEYCLOAK, typ: 'Logout' }, answer: 401 },
    ],
  },
  {
    name: 'Auth0',
    issuer: 'https://garden.eu.auth0.com/',
    audience: ['https://plants.example.com', 'my_client_id'],
    tokens: [
      { what: 'an access token', typ: 'JWT', claims: AUTH0, answer: 200 },
      {
        what: 'an access token of a machine',
        typ: 'JWT',
        claims: { ...AUTH0, aud: 'https://plants.example.com', gty: 'client-credentials', scope: 'plants:write' },
        answer: 200,
      },
      {
        what: 'an access token with the profile of RFC 9068',
        typ: 'at+jwt',
        claims: { ...AUTH0, client_id: 'c', jti: 'j' },
        answer: 200,
      },
      {
        what: 'an access token with the permission in RBAC alone',
        typ: 'JWT',
        claims: { ...AUTH0, scope: 'openid profile', permissions: ['plants:write'] },
        answer: 403,
      },
      {
        what: 'an ID token',
        typ: 'JWT',
        claims: { ...PERSON, nickname: 'flora', aud: 'my_client_id', sid: 's', nonce: 'n' },
        answer: 401,
      },
    ],
  },
  {
    name: 'Entra, version 2',
    issuer: `https://login.microsoftonline.com/${TENANT}/v2.0`,
    audience: [APPLICATION],
    tokens: [
      {
        what: 'an access token of a person',
        typ: 'JWT',
        claims: { ...ENTRA_2, scp: 'User.Read plants:write' },
        answer: 200,
      },
      {
        what: 'an access token of an application',
        typ: 'JWT',
        claims: { ...ENTRA_2, azpacr: '1', roles: ['plants:write'] },
        answer: 200,
      },
      {
        what: 'an access token of a person whose client may not write, but who has a role',
        typ: 'JWT',
        claims: { ...ENTRA_2, scp: 'profile', roles: ['plants:write'] },
        answer: 403,
      },
      { what: 'an ID token with roles', typ: 'JWT', claims: { ...ENTRA_ID, ver: '2.0' }, answer: 401 },
    ],
  },
  {
    name: 'Entra, version 1',
    issuer: `https://sts.windows.net/${TENANT}/`,
    audience: [`api://${APPLICATION}`, APPLICATION],
    tokens: [
      { what: 'an access token of a person', typ: 'JWT', claims: { ...ENTRA_1, scp: 'plants:write' }, answer: 200 },
      {
        what: 'an access token of an application',
        typ: 'JWT',
        claims: { ...ENTRA_1, appidacr: '1', roles: ['plants:write'] },
        answer: 200,
      },
      {
        what: 'an ID token with roles',
        typ: 'JWT',
        claims: { ...ENTRA_ID, ver: '1.0', unique_name: 'flora' },
        answer: 401,
      },
    ],
  },
  {
    name: 'Okta',
    issuer: 'https://dev-133337.okta.com/oauth2/default',
    audience: ['api://default', '0oabv6kx4qq6h1U5l0h7'],
    tokens: [
      { what: 'an access token', claims: { ...OKTA, scp: ['openid', 'plants:write'] }, answer: 200 },
      { what: 'an access token of a machine', claims: { ...OKTA, sub: OKTA.cid, scp: ['plants:write'] }, answer: 200 },
      {
        what: 'an access token without the scope',
        claims: { ...OKTA, scp: ['openid'], groups: ['plants:write'] },
        answer: 403,
      },
      {
        what: 'an ID token to which a claim adds roles',
        claims: { ...PERSON, ver: 1, jti: 'ID.x', aud: OKTA.cid, amr: ['pwd'], nonce: 'n', roles: ['plants:write'] },
        answer: 401,
      },
    ],
  },
  {
    name: 'Cognito',
    issuer: COGNITO.iss,
    audience: ['another-client', COGNITO.client_id],
    scope: 'plants/write',
    tokens: [
      { what: 'an access token', claims: { ...COGNITO, scope: 'openid plants/write' }, answer: 200 },
      {
        what: 'an access token of a machine',
        claims: { ...COGNITO, sub: COGNITO.client_id, scope: 'plants/write' },
        answer: 200,
      },
      {
        what: 'an access token of another client',
        claims: { ...COGNITO, client_id: 'c', scope: 'plants/write' },
        answer: 401,
      },
      {
        what: 'an access token of the sign-in pages',
        claims: { ...COGNITO, scope: 'aws.cognito.signin.user.admin' },
        answer: 403,
      },
      {
        what: 'an ID token to which a trigger adds a scope',
        claims: { ...COGNITO, aud: COGNITO.client_id, token_use: 'id', scope: 'plants/write' },
        answer: 401,
      },
    ],
  },
];

describe.each(PROVIDERS)('With the settings for $name, a client', ({ issuer, audience, scope, tokens }) => {
  const provider = new IdentityProvider();
  let service: Service;

  beforeAll(async () => {
    await provider.start([RSA]);
    const jwksUrl = new URL(`${provider.issuer}/jwks`);
    service = await startService({ verifier: new JwtVerifier({ issuer, audience, jwksUrl }), ...(scope && { scope }) });
  });

  afterAll(async () => {
    await service.close();
    await provider.stop();
  });

  it.each(tokens)('with $what gets $answer', async ({ typ, claims, answer }) => {
    const token = await signToken({ iat: now(), exp: now() + 300, ...claims, iss: issuer }, { typ });

    expect(await ask(service.url, token)).toBe(answer);
  });
});
