/** Returns whether the text is one scope (RFC 6749 §3.3, scope-token). */
export function isScope(text: string): boolean {
  return /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(text);
}

/** Returns whether a challenge can hold the text between quotation marks as it is (RFC 9110 §5.6.4). */
export function isRealm(text: string): boolean {
  return /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/.test(text);
}

/** Returns whether the text is a token (RFC 6750 §2.1, b64token). */
export function isBearerToken(text: string): boolean {
  return /^[A-Za-z0-9\-._~+/]+=*$/.test(text);
}
