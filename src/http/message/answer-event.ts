import { channel } from 'node:diagnostics_channel';
import { authenticationOf } from '../../auth/authenticated-request.js';
import type { RefusalReason } from '../../auth/token-verifier.js';
import type { ErrorBody } from '../../contract/contract.exception.js';
import { ERROR_TABLE, type ErrorNumber } from '../../contract/error-table.js';
import type { Answer, PublicResponse } from './public-response.js';
import { withoutQuery } from './request-target.js';

/** The diagnostics channel with one message for every answer of the public port. */
export const ANSWER_CHANNEL = 'plant-store:answer';

/**
 * An answer, as the channel `plant-store:answer` publishes it. Input that is not HTTP has no principal, method, path,
 * duration or trace.
 */
export interface AnswerEvent {
  readonly requestId: string;
  /** The name of the principal, or of the holder of an expired token. */
  readonly principal?: string | undefined;
  /** The issuer of the JWT that names the principal. */
  readonly issuer?: string | undefined;
  readonly method?: string | undefined;
  /**
   * The path for the router, see `toRouterPath`; the target as sent if the request is refused before it is routed. It has no
   * query, which may hold anything, and at most 256 printable ASCII characters.
   */
  readonly path?: string | undefined;
  readonly statusCode: number;
  readonly error?: ErrorNumber | undefined;
  /** The message of the answer, if it says more than the number. It never quotes the request. */
  readonly reason?: string | undefined;
  /** Why the guard has refused the request. */
  readonly refusal?: RefusalReason | undefined;
  /** What the token has and what is required, if the guard has refused the request. */
  readonly detail?: string | undefined;
  /** Milliseconds, to the microsecond, from the end of the headers to the answer. */
  readonly duration?: number | undefined;
  /** The client's address: the one that a trusted proxy names, otherwise the peer's. */
  readonly address: string | undefined;
  /** W3C Trace Context: the trace, and the caller's span in it. */
  readonly traceId?: string | undefined;
  readonly spanId?: string | undefined;
}

/** Maximum characters of a path in the log. */
const MAX_PATH = 256;

const answers = channel(ANSWER_CHANNEL);

/** Publishes an answer to the log and the metrics. */
export function publishAnswer(event: AnswerEvent): void {
  answers.publish(event);
}

/** Describes an answer for the log and the metrics. */
export function describeAnswer({ req, headersCompleteAt }: PublicResponse, { status, body }: Answer): AnswerEvent {
  const { id, method, url = '', trace } = req;
  const { principal, refusal, missingScope } = authenticationOf(req);
  const failure = status === 400 ? failureOf(body as ErrorBody) : undefined;
  return {
    requestId: id,
    principal: principal?.name ?? refusal?.name,
    issuer: principal?.issuer ?? refusal?.issuer,
    method,
    path: loggedPath(url),
    statusCode: status,
    error: failure?.error,
    reason: failure?.reason,
    refusal: refusal?.refused,
    detail: refusal?.detail ?? missingScope,
    duration: Math.round((performance.now() - headersCompleteAt) * 1_000) / 1_000,
    address: req.clientAddress,
    traceId: trace?.traceId,
    spanId: trace?.spanId,
  };
}

/** Returns the error number and, if it is not the default text of the number, the message of a refusal. */
export function failureOf({ error, message }: ErrorBody): Pick<AnswerEvent, 'error' | 'reason'> {
  return message === ERROR_TABLE[error].message ? { error } : { error, reason: message };
}

function loggedPath(url: string): string {
  const path = withoutQuery(url).slice(0, MAX_PATH);
  // A target that the rules for messages refuse may hold anything.
  return /^[!-~]*$/.test(path) ? path : path.replace(/[^!-~]/g, '?');
}
