import type { JWTPayload, ProtectedHeaderParameters } from 'jose';
import type { Principal } from './token-verifier.js';

/** `at+jwt` is required by RFC 9068 §4. `JWT` also accepts the header `typ` JWT, or none, as most providers send it. */
export const JWT_TYPES = ['JWT', 'at+jwt'] as const;

export type JwtType = (typeof JWT_TYPES)[number];

export interface JwtSettings {
  /** The exact value of `iss`: the URL of the provider. */
  readonly issuer: string;
  /** The values of `aud` that stand for this service. Of a token without `aud`, `client_id` must be one of them. */
  readonly audience: string | readonly string[];
  /** The URL of the issuer's keys. Defaults to the one in its discovery document. */
  readonly jwksUrl?: URL | undefined;
  /** Defaults to `JWT`. */
  readonly type?: JwtType | undefined;
  /** True to fetch keys from other machines over http, too. Then a host in that network can forge tokens. */
  readonly allowHttp?: boolean | undefined;
}

const ACCEPTED_TYPES: Record<JwtType, { readonly pattern: RegExp; readonly words: string }> = {
  'at+jwt': { pattern: /^(?:application\/)?at\+jwt$/i, words: 'at+jwt' },
  JWT: { pattern: /^(?:(?:application\/)?at\+jwt|jwt|)$/i, words: 'at+jwt, JWT or none' },
};

/** Maximum characters of a claim in the log. */
const MAX_SHOWN = 200;

/**
 * Returns why a JWT is no access token for this service, with what it has and what is required; undefined if it is one.
 * The signature and the times remain to be verified.
 *
 * ID tokens are refused: they tell a client who has signed in, and grant nothing. `nonce` does not distinguish them,
 * because older versions of Keycloak also put it into access tokens.
 */
export function faultOf(
  { typ = '' }: ProtectedHeaderParameters,
  claims: JWTPayload,
  { issuer, audience, type = 'JWT' }: JwtSettings,
): string | undefined {
  if (claims.iss !== issuer) return `iss is ${show(claims.iss)}, required: ${show(issuer)}`;
  // Amazon Cognito and Keycloak.
  if (claims.token_use === 'id') return 'token_use is "id": it is an ID token, required: an access token';
  if (claims.typ === 'ID') return 'the claim typ is "ID": it is an ID token, required: an access token';
  const { pattern, words } = ACCEPTED_TYPES[type];
  if (!pattern.test(typ)) return `typ is ${show(typ || undefined)}, required: ${words}`;
  // Access tokens of Cognito have no audience.
  const name = claims.aud === undefined && claims.client_id !== undefined ? 'client_id' : 'aud';
  const accepted = [audience].flat();
  if (![claims[name]].flat().some((value) => typeof value === 'string' && accepted.includes(value))) {
    return `${name} is ${show(claims[name])}, required: ${show(audience)}`;
  }
  if (permissionOf(claims) !== undefined) return undefined;
  return 'there is no scope, no scp, and no roles beside azp or appid: it is an ID token, or nothing was granted to it';
}

/** Returns the principal of an access token without a fault. */
export function toPrincipal(claims: JWTPayload): Principal {
  const names = [claims.sub, claims.client_id, claims.iss];
  return { name: names.find((name) => typeof name === 'string') ?? '', scopes: scopesOf(permissionOf(claims)) };
}

/**
 * Returns the value of the first claim of permission that is present: `scope` (RFC 9068 §2.2.3), `scp` (Okta, Microsoft
 * Entra), or `roles` (Entra, for applications). Others are not added to it: somebody's role must not extend what a
 * client may do for them. `roles` counts only beside a claim that names the client: ID tokens of Entra have roles, too.
 */
function permissionOf({ scope, scp, roles, azp, appid }: JWTPayload): unknown {
  if (scope !== undefined) return scope;
  if (scp !== undefined) return scp;
  return (azp ?? appid) === undefined ? undefined : roles;
}

function scopesOf(permission: unknown): string[] {
  const texts: unknown[] = typeof permission === 'string' ? permission.split(' ') : [permission].flat();
  return texts.filter((text) => typeof text === 'string').filter((text) => text !== '');
}

/** Returns a value for the log, which shows the claims of strangers, too. */
function show(value: unknown): string {
  if (value === undefined) return 'missing';
  return JSON.stringify(value)
    .slice(0, MAX_SHOWN)
    .replace(/[^ -~]/g, '?');
}
