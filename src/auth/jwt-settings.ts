import { isHttpsOrLoopback } from '../loopback-host.js';

export const JWT_TYPES = ['at+jwt', 'JWT'] as const;

/** RFC 9068 §4 requires this type, so that ID tokens are refused. */
export const DEFAULT_JWT_TYPE = 'at+jwt' as const;

/** The header `typ` of an access token; `JWT` accepts any, or none. */
export type JwtType = (typeof JWT_TYPES)[number];

export interface JwtSettings {
  /** The exact value of `iss`: an https URL, or a URL of this machine. */
  readonly issuer: string;
  /** The value of `aud`, or one of its values. */
  readonly audience: string;
  /** The URL of the issuer's keys. Defaults to the one in its discovery document. */
  readonly jwksUrl?: URL | undefined;
  /** Defaults to `at+jwt`. */
  readonly type?: JwtType | undefined;
}

/** @throws {TypeError} at the first setting that is wrong */
export function assertJwtSettings({ issuer, audience, jwksUrl, type = DEFAULT_JWT_TYPE }: JwtSettings): void {
  const rules: readonly [isMet: boolean, name: keyof JwtSettings, rule: string][] = [
    [URL.canParse(issuer) && isHttpsOrLoopback(new URL(issuer)), 'issuer', 'an https URL, or a URL of this machine'],
    [typeof audience === 'string' && audience !== '', 'audience', 'a text that is not empty'],
    [jwksUrl === undefined || (jwksUrl instanceof URL && isHttpsOrLoopback(jwksUrl)), 'jwksUrl', 'an https URL object'],
    [JWT_TYPES.includes(type), 'type', `one of ${JWT_TYPES.join(', ')}`],
  ];
  for (const [isMet, name, rule] of rules) if (!isMet) throw new TypeError(`JwtVerifier: ${name} must be ${rule}`);
}
