import { principalOf, refusalOf } from '../../auth/request-principal.js';
import type { ErrorBody } from '../../contract/contract.exception.js';
import { ERROR_TABLE } from '../../contract/error-table.js';
import type { Answer, PublicResponse } from './public-response.js';
import type { RequestMessage } from './request-channel.js';

/** The length of a path in the log, at most. */
const MAX_PATH = 256;

/** Makes the message of an answer for the log and the metrics. */
export function messageOf({ req, begun }: PublicResponse, { status, body }: Answer): RequestMessage {
  const { id, method, url = '', trace } = req;
  const principal = principalOf(req);
  const refused = refusalOf(req);
  return {
    requestId: id,
    principal: principal?.name ?? refused?.principal,
    issuer: principal?.issuer ?? refused?.issuer,
    method,
    path: loggedPath(url),
    status,
    ...(status === 400 && reasonOf(body as ErrorBody)),
    refusal: refused?.reason,
    duration: Math.round((performance.now() - begun) * 1_000) / 1_000,
    address: req.forwardedAddress ?? req.socket.remoteAddress,
    traceId: trace?.traceId,
    spanId: trace?.spanId,
  };
}

/** Returns what the log tells of a refusal: the message, unless it is that of every such answer. */
export function reasonOf({ error, message }: ErrorBody): Pick<RequestMessage, 'error' | 'reason'> {
  return message === ERROR_TABLE[error].message ? { error } : { error, reason: message };
}

function loggedPath(url: string): string {
  const query = url.indexOf('?');
  const path = url.slice(0, Math.min(query < 0 ? MAX_PATH : query, MAX_PATH));
  // A target that the rules for messages refuse may hold anything.
  return /^[!-~]*$/.test(path) ? path : path.replace(/[^!-~]/g, '?');
}
