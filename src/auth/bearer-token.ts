/** RFC 6750 §2.1: `credentials = "Bearer" 1*SP b64token`. RFC 9110 §11.1: the scheme is case-insensitive. */
const CREDENTIALS = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i;

/** RFC 6750 §2.1: b64token. */
const TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;

/** Returns whether an Authorization header can carry this token. */
export function isBearerToken(token: string): boolean {
  return TOKEN.test(token);
}

/** Returns the token of an Authorization header, or undefined if it has none or is malformed. */
export function parseBearerToken(authorization: string | undefined): string | undefined {
  return authorization === undefined ? undefined : CREDENTIALS.exec(authorization)?.[1];
}

/** Returns whether the client tried to send a token: only then a challenge names an error (RFC 6750 §3). */
export function hasBearerCredentials(authorization: string | undefined): boolean {
  return authorization !== undefined && /^bearer +./i.test(authorization);
}
