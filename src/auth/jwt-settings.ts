/** `at+jwt` is required by RFC 9068 §4. `JWT` also accepts the header `typ` JWT, or none, as most providers send it. */
export const JWT_TYPES = ['JWT', 'at+jwt'] as const;

export type JwtType = (typeof JWT_TYPES)[number];

export interface JwtSettings {
  /** The exact value of `iss`: the URL of the provider. */
  readonly issuer: string;
  /** The values of `aud` that stand for this service. Where a token has no `aud`, its `client_id` must be one of them. */
  readonly audience: string | readonly string[];
  /** The URL of the issuer's keys. Defaults to the one in its discovery document. */
  readonly jwksUrl?: URL | undefined;
  /** Defaults to `JWT`. */
  readonly type?: JwtType | undefined;
  /** True to fetch keys from other machines over http, too. Then a host in that network can forge tokens. */
  readonly allowHttp?: boolean | undefined;
}
