import { channel } from 'node:diagnostics_channel';
import type { FastifyReply } from 'fastify';
import { authenticationOf } from '../auth/authenticated-request.js';
import type { RefusalReason } from '../auth/token-verifier.js';
import type { ErrorBody } from '../contract/contract.exception.js';
import { ERROR_TABLE, type ErrorNumber } from '../contract/error-table.js';

/**
 * The diagnostics channel with one message for every answer of the public port. An interceptor of Nest would not see
 * the answers to input that never reaches Nest.
 */
export const ANSWER_CHANNEL = 'plant-store:answer';

/** An answer, for the log and the metrics. Input that is not HTTP has no principal, method, path or duration. */
export interface AnswerEvent {
  readonly requestId: string;
  /** The name of the principal. */
  readonly principal?: string | undefined;
  readonly method?: string | undefined;
  /** The target as sent, without its query, which may hold a token. */
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
}

const answers = channel(ANSWER_CHANNEL);

/** Publishes the answer to a request. */
export function publishAnswer({ request, elapsedTime }: FastifyReply, status: number, body?: object): void {
  const { principal, missingScope, refusal } = authenticationOf(request.raw);
  const failure = status === 400 ? (body as ErrorBody) : undefined;
  answers.publish({
    requestId: request.id,
    principal: principal?.name,
    method: request.method,
    path: request.originalUrl.split('?', 1)[0],
    statusCode: status,
    error: failure?.error,
    reason: failure && reasonOf(failure),
    refusal: refusal?.refused,
    detail: refusal?.detail ?? missingScope,
    duration: Math.round(elapsedTime * 1_000) / 1_000,
    address: request.ip,
  } satisfies AnswerEvent);
}

/** Publishes the refusal of input that is not a request. */
export function publishRefusal(requestId: string, body: ErrorBody, address: string | undefined): void {
  const { error } = body;
  answers.publish({ requestId, statusCode: 400, error, reason: reasonOf(body), address } satisfies AnswerEvent);
}

/** Returns the message of a refusal, if it is not the text that the table has for its number. */
function reasonOf({ error, message }: ErrorBody): string | undefined {
  return message === ERROR_TABLE[error].message ? undefined : message;
}
