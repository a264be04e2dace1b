import { type IncomingMessage, METHODS } from 'node:http';
import { ContractException } from '../../contract/contract.exception.js';
import { isAuthority, isTarget } from './request-target.js';

/** Maximum headers of a request: each occupies hundreds of bytes, however short it is. */
export const MAX_HEADERS = 256;

const KNOWN_METHODS = new Set(METHODS);

/** Returns the refusal of a message that Node's parser accepts although it breaks a rule; undefined for all others. */
export function findRefusal(request: IncomingMessage): ContractException | undefined {
  if (request.rawHeaders.length > 2 * MAX_HEADERS) {
    return new ContractException(431, `There are more than ${MAX_HEADERS} headers: send fewer.`);
  }
  const violation = findHttpViolation(request);
  return violation === undefined ? undefined : new ContractException(400, violation);
}

/** Returns the first violation of RFC 9112 that Node's parser accepts, as a sentence for the client, or undefined. */
function findHttpViolation(request: IncomingMessage): string | undefined {
  const { httpVersion, headers, method = '', url = '' } = request;
  // Node's parser also accepts the methods of RTSP.
  if (!KNOWN_METHODS.has(method)) return 'The request method is not one of HTTP (RFC 9110 §9).';
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return 'The HTTP version must be 1.1 or 1.0 (RFC 9112 §2.3).';
  // Node joins repeated headers to `a, b`, which is not a valid host.
  const isHostValid = headers.host === undefined ? httpVersion === '1.0' : isAuthority(headers.host);
  if (!isHostValid) return 'Send one Host header with a valid host (RFC 9112 §3.2).';
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && (coding.toLowerCase() !== 'chunked' || httpVersion === '1.0')) {
    return 'The Transfer-Encoding must be chunked, and the version HTTP/1.1 (RFC 9112 §6.1).';
  }
  if (!isTarget(method, url)) {
    return 'The request target is not valid (RFC 9112 §3.2): check its characters and escapes.';
  }
  return undefined;
}
