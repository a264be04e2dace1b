/** Returns whether the text is a token: the b64token of RFC 6750 §2.1. */
export function isBearerToken(text: string): boolean {
  return /^[A-Za-z0-9\-._~+/]+=*$/.test(text);
}
