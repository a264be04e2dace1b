export const JWT_TYPES = ['at+jwt', 'JWT'] as const;

/** The header `typ` of an access token; `JWT` also accepts a token without it. */
export type JwtType = (typeof JWT_TYPES)[number];

export interface JwtSettings {
  /** The exact value of `iss`: an https URL, or a URL of this machine. */
  readonly issuer: string;
  /** The value of `aud`, or one of its values. */
  readonly audience: string;
  /** The URL of the issuer's keys. Defaults to the one in its discovery document. */
  readonly jwksUrl?: URL | undefined;
  /** Defaults to `at+jwt`, which RFC 9068 §4 requires, so that ID tokens are refused. */
  readonly type?: JwtType;
}

/** Returns whether the network cannot read or change what this URL serves: it is https, or on this machine. */
export function isSecure({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || (protocol === 'http:' && /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname));
}
