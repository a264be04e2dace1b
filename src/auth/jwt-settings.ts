export const JWT_TYPES = ['at+jwt', 'JWT'] as const;

/** RFC 9068 §4 requires it, so that ID tokens are refused. */
export const DEFAULT_JWT_TYPE = 'at+jwt';

/** The header `typ` of an access token; `JWT` also accepts a token without it. */
export type JwtType = (typeof JWT_TYPES)[number];

export interface JwtSettings {
  /** The exact value of `iss`: an https URL, or a URL of this machine. */
  readonly issuer: string;
  /** The value of `aud`, or one of its values. */
  readonly audience: string;
  /** The URL of the issuer's keys. Defaults to the one in its discovery document. */
  readonly jwksUrl?: URL | undefined;
  /** Defaults to `at+jwt`. */
  readonly type?: JwtType;
}

/** Returns whether the URL is https, or http to a loopback host. */
export function isHttpsOrLoopback({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || (protocol === 'http:' && isLoopbackHost(hostname));
}

/** Returns whether only this machine reaches the host; a URL has an IPv6 address in brackets. */
export function isLoopbackHost(host: string): boolean {
  return /^(?:localhost|127(?:\.\d+){3}|::1|\[::1\])$/.test(host);
}
