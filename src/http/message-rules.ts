import { type IncomingMessage, METHODS } from 'node:http';
import { isIPv6 } from 'node:net';

/** RFC 3986 §3.2.2 and §3.2.3, without the user information that HTTP has no use for. */
const AUTHORITY =
  /^(?:\[([\da-f:.]+)\]|\[v[\da-f]+\.[\w.~!$&'()*+,;=:-]+\]|(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})*)(?::\d*)?$/i;

/** RFC 9112 §3.2.1: an absolute path and optionally a query, of the characters of RFC 3986 §3.3 and §3.4. */
const ORIGIN_FORM = /^\/(?:[\w.~!$&'()*+,;=:@/-]|%[\da-f]{2})*(?:\?(?:[\w.~!$&'()*+,;=:@/?-]|%[\da-f]{2})*)?$/i;

/** RFC 9112 §3.2.2: captures the authority, whose host is not empty (RFC 9110 §4.2.1), and the rest. */
const ABSOLUTE_FORM = /^https?:\/\/([^/?#:][^/?#]*)(.*)$/i;

const KNOWN_METHODS = new Set(METHODS);

/** Returns the first violation of RFC 9112 that Node's parser accepts, as a sentence for the client, or undefined. */
export function findViolation({ httpVersion, headers, method = '', url = '' }: IncomingMessage): string | undefined {
  // Node's parser accepts the methods of RTSP.
  if (!KNOWN_METHODS.has(method)) return 'The request method is not one of HTTP (RFC 9110 §9).';
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return 'The HTTP version must be 1.1 or 1.0 (RFC 9112 §2.3).';
  // Repeated headers are joined by a comma and a space, which is not a valid host.
  if (headers.host === undefined ? httpVersion === '1.1' : !isAuthority(headers.host)) {
    return 'Send one Host header with a valid host (RFC 9112 §3.2).';
  }
  const coding = headers['transfer-encoding'];
  if (coding !== undefined) {
    if (headers['content-length'] !== undefined) {
      return 'Send Content-Length or Transfer-Encoding, not both (RFC 9112 §6.2).';
    }
    if (coding.toLowerCase() !== 'chunked' || httpVersion === '1.0') {
      return 'The Transfer-Encoding must be chunked, and the version HTTP/1.1 (RFC 9112 §6.1).';
    }
  }
  if (!isTarget(method, url))
    return 'The request target is not valid (RFC 9112 §3.2): check its characters and escapes.';
  return undefined;
}

/** Returns the path and the query of a valid request target; the root for a target without a path. */
export function toOriginForm(url: string): string {
  return url.startsWith('/') ? url : withRoot(ABSOLUTE_FORM.exec(url)?.[2] ?? '');
}

/** Replaces escapes that are not UTF-8, which the router does not decode, by U+FFFD, which is in no path of ours. */
export function withUtf8Escapes(url: string): string {
  if (!url.includes('%')) return url;
  try {
    // Uses the result, without which Rolldown 1.2 removes the call.
    return decodeURI(url) && url;
  } catch {
    return url.replace(/%[89a-f][\da-f]/gi, '%EF%BF%BD');
  }
}

function isAuthority(text: string): boolean {
  const match = AUTHORITY.exec(text);
  return match !== null && (match[1] === undefined || isIPv6(match[1]));
}

function isTarget(method: string, url: string): boolean {
  if (url === '*') return method === 'OPTIONS';
  if (url.startsWith('/')) return ORIGIN_FORM.test(url);
  const [, authority = '', rest = ''] = ABSOLUTE_FORM.exec(url) ?? [];
  return authority !== '' && isAuthority(authority) && ORIGIN_FORM.test(withRoot(rest));
}

function withRoot(rest: string): string {
  return rest.startsWith('/') ? rest : `/${rest}`;
}
