/** RFC 6750 §2.1: `credentials = "Bearer" 1*SP b64token`; RFC 9110 §11.1: the scheme in any case. */
const CREDENTIALS = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i;

/** The characters of a token (RFC 6750 §2.1, b64token). */
const TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;

/** Whether an Authorization header can carry this token at all. */
export function isBearerToken(token: string): boolean {
  return TOKEN.test(token);
}

/** The token of an Authorization header; undefined where there is none, or no well-formed one. */
export function bearerTokenIn(authorization: string | undefined): string | undefined {
  return authorization === undefined ? undefined : CREDENTIALS.exec(authorization)?.[1];
}

/** Whether somebody tried to send a token, well-formed or not (RFC 6750 §3: only then there is an error to name). */
export function attemptsBearer(authorization: string | undefined): boolean {
  return authorization !== undefined && /^bearer +./i.test(authorization);
}
