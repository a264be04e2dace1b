import { isIPv6 } from 'node:net';

/** RFC 3986 §3.2.2 and §3.2.3, without the user information that HTTP has no use for. */
const AUTHORITY =
  /^(?:\[([\da-f:.]+)\]|\[v[\da-f]+\.[\w.~!$&'()*+,;=:-]+\]|(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})*)(?::\d*)?$/i;

/** RFC 9112 §3.2.1: an absolute path and optionally a query, of the characters of RFC 3986 §3.3 and §3.4. */
const ORIGIN_FORM = /^\/(?:[\w.~!$&'()*+,;=:@/-]|%[\da-f]{2})*(?:\?(?:[\w.~!$&'()*+,;=:@/?-]|%[\da-f]{2})*)?$/i;

/** RFC 9112 §3.2.2: captures the authority, whose host is not empty (RFC 9110 §4.2.1), and the rest. */
const ABSOLUTE_FORM = /^https?:\/\/([^/?#:][^/?#]*)(.*)$/i;

/** Returns whether a text is a host, optionally with a port. */
export function isAuthority(text: string): boolean {
  const match = AUTHORITY.exec(text);
  return match !== null && (match[1] === undefined || isIPv6(match[1]));
}

/** Returns whether RFC 9112 §3.2 allows the request target with this method. */
export function isTarget(method: string, target: string): boolean {
  if (target === '*') return method === 'OPTIONS';
  if (target.startsWith('/')) return ORIGIN_FORM.test(target);
  const [, authority = '', rest = ''] = ABSOLUTE_FORM.exec(target) ?? [];
  return authority !== '' && isAuthority(authority) && ORIGIN_FORM.test(withRoot(rest));
}

/**
 * Returns the path of a valid request target, as the router takes it: without the query, which nothing uses, and whose
 * thousands of names the router would parse for each method.
 */
export function toRouterPath(target: string): string {
  const [path = ''] = target.split('?', 1);
  return withUtf8Escapes(path.startsWith('/') ? path : withRoot(ABSOLUTE_FORM.exec(path)?.[2] ?? ''));
}

/** Replaces escapes that are not UTF-8, which the router does not decode, by U+FFFD, which is in no path of ours. */
function withUtf8Escapes(path: string): string {
  return isDecodable(path) ? path : path.replace(/%[89a-f][\da-f]/gi, '%EF%BF%BD');
}

/** Returns whether all escapes of a path that is not empty are UTF-8. */
function isDecodable(path: string): boolean {
  if (!path.includes('%')) return true;
  try {
    // Compares the result: Rolldown 1.2 removes a call whose result is unused.
    return decodeURI(path) !== '';
  } catch {
    return false;
  }
}

function withRoot(rest: string): string {
  return rest.startsWith('/') ? rest : `/${rest}`;
}
