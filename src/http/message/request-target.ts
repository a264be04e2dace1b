import { isIPv6 } from 'node:net';

/** Matches `example.org:3000` and `[::1]`: RFC 3986 §3.2.2 and §3.2.3 without user information, which HTTP does not use. */
const AUTHORITY =
  /^(?:\[([\da-f:.]+)\]|\[v[\da-f]+\.[\w.~!$&'()*+,;=:-]+\]|(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})*)(?::\d*)?$/i;

/** Matches `/v1/plants?page=2`: RFC 9112 §3.2.1, with the characters of RFC 3986 §3.3 and §3.4. */
const ORIGIN_FORM = /^\/(?:[\w.~!$&'()*+,;=:@/-]|%[\da-f]{2})*(?:\?(?:[\w.~!$&'()*+,;=:@/?-]|%[\da-f]{2})*)?$/i;

/** Captures `example.org` and `/plants` of `http://example.org/plants`; RFC 9110 §4.2.1 excludes an empty host. */
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
 * Returns the path of a valid request target for the router. It has no query: nothing uses the query, and the router would
 * parse its thousands of names for each method.
 */
export function toRouterPath(target: string): string {
  const path = withoutQuery(target);
  return withUtf8Escapes(path.startsWith('/') ? path : withRoot(ABSOLUTE_FORM.exec(path)?.[2] ?? ''));
}

/** Returns the part of a request target before its query. */
export function withoutQuery(target: string): string {
  const query = target.indexOf('?');
  return query < 0 ? target : target.slice(0, query);
}

/** Replaces escapes that are not UTF-8 by U+FFFD: the router cannot decode them. No route has this character. */
function withUtf8Escapes(path: string): string {
  return isDecodable(path) ? path : path.replace(/%[89a-f][\da-f]/gi, '%EF%BF%BD');
}

/** Returns whether all escapes of a path that is not empty are UTF-8. */
function isDecodable(path: string): boolean {
  if (!path.includes('%')) return true;
  try {
    // The comparison uses the result: Rolldown 1.2 would remove a call whose result is unused.
    return decodeURI(path) !== '';
  } catch {
    return false;
  }
}

function withRoot(rest: string): string {
  return rest.startsWith('/') ? rest : `/${rest}`;
}
