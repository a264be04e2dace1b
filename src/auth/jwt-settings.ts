export const JWT_TYPES = ['at+jwt', 'JWT'] as const;

/** What the header of an access token says of its type; `JWT` stands for none, too. */
export type JwtType = (typeof JWT_TYPES)[number];

/** Which JWTs are valid. */
export interface JwtSettings {
  /** Exactly what `iss` must be: an https URL, or one of this machine. */
  readonly issuer: string;
  /** What `aud` must be, or have among others. */
  readonly audience: string;
  /** Where the issuer's keys are; from its discovery document by default. */
  readonly jwksUrl?: URL | undefined;
  /** `at+jwt` by default, as RFC 9068 §4 wants it, so that no ID token passes. */
  readonly type?: JwtType;
}

/** Whether nobody on the way can read or forge what such a URL gives. */
export function isSecure({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || (protocol === 'http:' && /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname));
}
