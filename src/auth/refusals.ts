import { channel } from 'node:diagnostics_channel';
import { nodeRequest } from './principal.js';
import type { RefusalReason } from './token-verifier.js';

/** The diagnostics channel that has one message for each request answered with error 401. */
export const REFUSAL_CHANNEL = 'plant-store:authentication-refused';

/** A message of the channel. */
export interface AuthenticationRefused {
  readonly reason: RefusalReason | 'missing';
  /** The name of the token's holder, if the token has expired. */
  readonly principal?: string | undefined;
  /** The address of the client, if known. */
  readonly address?: string | undefined;
}

const REFUSAL = Symbol('refusal');

interface Refused {
  [REFUSAL]?: AuthenticationRefused;
}

const refused = channel(REFUSAL_CHANNEL);

/** Returns why the guard has refused a request; undefined if it has not. */
export function refusalOf(request: object): AuthenticationRefused | undefined {
  return (nodeRequest(request) as Refused)[REFUSAL];
}

/** Keeps the refusal with its request, for the log line, and publishes it. */
export function setRefusal(request: object, refusal: AuthenticationRefused): void {
  (nodeRequest(request) as Refused)[REFUSAL] = refusal;
  if (refused.hasSubscribers) refused.publish(refusal);
}
