/** Returns whether the text is a token: the b64token of RFC 6750 §2.1. */
export function isBearerToken(text: string): boolean {
  return /^[A-Za-z0-9\-._~+/]+=*$/.test(text);
}

/** Returns whether the client tried to send a token: only then a challenge names an error (RFC 6750 §3). */
export function hasBearerCredentials(authorization: string | undefined): boolean {
  return authorization !== undefined && /^bearer +./i.test(authorization);
}
