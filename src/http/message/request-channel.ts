import { channel } from 'node:diagnostics_channel';
import type { AuthenticationRefused } from '../../auth/request-principal.js';
import type { ErrorNumber } from '../../contract/error-table.js';

/** The diagnostics channel with one message for every answer of the public port. */
export const REQUEST_CHANNEL = 'plant-store:request';

/** A message of the channel `plant-store:request`. Input that is not HTTP has no principal, method, path, duration or trace. */
export interface RequestMessage {
  readonly requestId: string;
  /** The name of the principal, after authentication; the holder of an expired token, too. */
  readonly principal?: string | undefined;
  /** The issuer of the JWT that names the principal. */
  readonly issuer?: string | undefined;
  readonly method?: string | undefined;
  /** Without the query, which may hold anything: at most 256 printable ASCII characters. */
  readonly path?: string | undefined;
  readonly status: number;
  readonly error?: ErrorNumber | undefined;
  /** The message of the answer, if it says more than the number. It has nothing of the request. */
  readonly reason?: string | undefined;
  /** Why the guard has refused the request. */
  readonly refusal?: AuthenticationRefused['reason'] | undefined;
  /** Milliseconds, to the microsecond, from the end of the headers to the answer. */
  readonly duration?: number | undefined;
  /** The client's address: the one that a trusted proxy names, otherwise the peer's. */
  readonly address: string | undefined;
  /** W3C Trace Context: the trace, and the caller's span in it. */
  readonly traceId?: string | undefined;
  readonly spanId?: string | undefined;
}

const requests = channel(REQUEST_CHANNEL);

/** Publishes an answer to the log and the metrics. */
export function publishRequest(createMessage: () => RequestMessage): void {
  if (requests.hasSubscribers) requests.publish(createMessage());
}
