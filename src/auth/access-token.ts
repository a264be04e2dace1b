import type { JWTPayload, ProtectedHeaderParameters } from 'jose';
import type { JwtSettings } from './jwt-settings.js';
import type { Principal } from './token-verifier.js';

/** Maximum characters of a claim in the log. */
const MAX_SHOWN = 200;

const TYPES = {
  'at+jwt': { pattern: /^(?:application\/)?at\+jwt$/i, required: 'at+jwt' },
  JWT: { pattern: /^(?:(?:application\/)?at\+jwt|jwt|)$/i, required: 'at+jwt, JWT or none' },
} as const;

/**
 * Returns why a JWT is no access token for this service, with what it has and what is required; undefined if it is one. The
 * signature and the times remain to be verified.
 *
 * ID tokens are refused: they tell a client who has signed in, and grant nothing. `nonce` does not distinguish them, because
 * older versions of Keycloak also put it into access tokens.
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
  const { pattern, required } = TYPES[type];
  if (!pattern.test(typ)) return `typ is ${show(typ || undefined)}, required: ${required}`;
  // Access tokens of Cognito have no audience.
  const name = claims.aud === undefined && claims.client_id !== undefined ? 'client_id' : 'aud';
  const accepted = [audience].flat();
  if (![claims[name]].flat().some((value) => typeof value === 'string' && accepted.includes(value))) {
    return `${name} is ${show(claims[name])}, required: ${show(audience)}`;
  }
  if (permissionClaimOf(claims) !== undefined) return undefined;
  return 'there is no scope, no scp, and no roles beside azp or appid: it is an ID token, or nothing was granted to it';
}

/** Returns the principal of an access token without a fault. */
export function toPrincipal(claims: JWTPayload): Principal {
  const { iss: issuer, sub, client_id: client } = claims;
  const name = [sub, client, issuer].find((text) => typeof text === 'string') ?? '';
  const claim = permissionClaimOf(claims);
  return { name, issuer, claim, scopes: claim === undefined ? [] : scopesOf(claims[claim]) };
}

/**
 * Returns the first claim of permission that is present: `scope` (RFC 9068 §2.2.3), `scp` (Okta, Microsoft Entra), or
 * `roles` (Entra, for applications). Others are not added to it: somebody's role must not extend what a client may do for
 * them. `roles` counts only beside a claim that names the client, because ID tokens of Entra have roles, too.
 */
function permissionClaimOf(claims: JWTPayload): 'scope' | 'scp' | 'roles' | undefined {
  if (claims.scope !== undefined) return 'scope';
  if (claims.scp !== undefined) return 'scp';
  const isForClient = (claims.azp ?? claims.appid) !== undefined;
  return claims.roles !== undefined && isForClient ? 'roles' : undefined;
}

function scopesOf(claim: unknown): string[] {
  const texts: unknown[] = typeof claim === 'string' ? claim.split(' ') : [claim].flat();
  return texts.filter((text) => typeof text === 'string').filter((text) => text !== '');
}

/** Returns a value for the log, which shows the claims of strangers, too. */
function show(value: unknown): string {
  if (value === undefined) return 'missing';
  return JSON.stringify(value)
    .slice(0, MAX_SHOWN)
    .replace(/[^ -~]/g, '?');
}
