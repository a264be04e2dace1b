/** One message for every request that is refused for its token. */
export const AUTHENTICATION_REFUSED = 'plant-store:authentication-refused';

/** What the channel `plant-store:authentication-refused` carries. */
export interface AuthenticationRefused {
  readonly reason: 'missing' | 'invalid';
  /** The client's, as far as it is known. */
  readonly address?: string;
}
