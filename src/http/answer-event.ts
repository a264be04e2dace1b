import { channel } from 'node:diagnostics_channel';
import type { FastifyReply } from 'fastify';
import { authenticationOf } from '../auth/authenticated-request.js';
import type { RefusalReason } from '../auth/token-verifier.js';
import type { ErrorBody } from '../contract/contract.exception.js';
import { ERROR_TABLE, type ErrorNumber } from '../contract/error-table.js';

/**
 * The diagnostics channel with one message for every answer of the public port. An interceptor of Nest would not see the
 * answers to input that never reaches Nest.
 */
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
  /** The target as sent, without its query, which may hold anything: at most 256 printable ASCII characters. */
  readonly path?: string | undefined;
  readonly statusCode: number;
  readonly error?: ErrorNumber | undefined;
  /** The message of the answer, if it says more than the number. It never quotes the request. */
  readonly reason?: string | undefined;
  /** Why the guard has refused the request. */
  readonly refusal?: RefusalReason | undefined;
  /** The fault of the token and the rule that it breaks, if the guard has refused the request. */
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

/** W3C Trace Context §3.2.2, version 00: trace-id, parent-id and flags. */
const TRACEPARENT = /^00-([\da-f]{32})-([\da-f]{16})-[\da-f]{2}$/;

const answers = channel(ANSWER_CHANNEL);

/** Publishes the answer to a request, for the log and the metrics. */
export function publishAnswer({ request, elapsedTime }: FastifyReply, status: number, body?: object): void {
  const { id, ip, method, originalUrl, raw } = request;
  const { principal, refusal, missingScope } = authenticationOf(raw);
  const { traceparent = '' } = raw.headers;
  const [, traceId, spanId] = TRACEPARENT.exec(String(traceparent)) ?? [];
  publish({
    requestId: id,
    principal: principal?.name ?? refusal?.name,
    issuer: principal?.issuer ?? refusal?.issuer,
    method,
    path: loggedPath(originalUrl),
    statusCode: status,
    ...(status === 400 && failureOf(body as ErrorBody)),
    refusal: refusal?.refused,
    detail: refusal?.detail ?? missingScope,
    duration: Math.round(elapsedTime * 1_000) / 1_000,
    address: ip,
    traceId,
    spanId,
  });
}

/** Publishes the refusal of input that is not a request. */
export function publishRefusal(requestId: string, body: ErrorBody, address: string | undefined): void {
  publish({ requestId, statusCode: 400, ...failureOf(body), address });
}

function publish(event: AnswerEvent): void {
  answers.publish(event);
}

function loggedPath(target: string): string {
  const path = target.replace(/\?.*$/s, '').slice(0, MAX_PATH);
  // A target that is not valid may hold anything.
  return path.replace(/[^!-~]/g, '?');
}

/** Returns the error number and, if it is not the default text of the number, the message of a refusal. */
function failureOf({ error, message }: ErrorBody): Pick<AnswerEvent, 'error' | 'reason'> {
  return message === ERROR_TABLE[error].message ? { error } : { error, reason: message };
}
