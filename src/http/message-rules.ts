import type { IncomingMessage } from 'node:http';

/** Matches `example.org:3000` and `[::1]`: RFC 9110 §4.2, without user information. */
const AUTHORITY = /^(?:\[[\da-f:.]+\]|[\w.~!$&'()*+;=%-]*)(?::\d*)?$/i;

/** Returns the first violation of HTTP that Node's parser accepts, as a sentence for the client, or undefined. */
export function findViolation({ headers, httpVersion }: IncomingMessage): string | undefined {
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return 'The HTTP version must be 1.1 or 1.0 (RFC 9112 §2.3).';
  const { host, 'transfer-encoding': coding } = headers;
  // Node joins repeated headers to `a, b`, which is not a valid host.
  const isHostValid = host === undefined ? httpVersion === '1.0' : AUTHORITY.test(host);
  if (!isHostValid) return 'Send one Host header with a valid host (RFC 9112 §3.2).';
  if (coding !== undefined && (coding.toLowerCase() !== 'chunked' || httpVersion === '1.0')) {
    return 'The Transfer-Encoding must be chunked, and the version HTTP/1.1 (RFC 9112 §6.1).';
  }
  return undefined;
}
