import { isIP } from 'node:net';
import { isHttpsOrLoopback } from '../loopback-host.js';

// Each `read` function reads the text of a variable, and returns undefined if the text breaks the rule.

/** Reads a decimal integer without a sign. */
export function readNumber(text: string, least: number, greatest: number): number | undefined {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
  return value >= least && value <= greatest ? value : undefined;
}

export function readPort(text: string): number | undefined {
  return readNumber(text, 0, 65_535);
}

/** Reads one of these words. */
export function readWord<const Word extends string>(text: string, words: readonly Word[]): Word | undefined {
  return words.find((word) => word === text);
}

/** Reads values that are separated by commas. */
export function readList(text: string, isValue: (value: string) => boolean): readonly string[] | undefined {
  const values = text.split(',').map((value) => value.trim());
  return values.every(isValue) ? values : undefined;
}

export function readPath(text: string): string | undefined {
  return text.trim() === '' ? undefined : text;
}

/** Reads a host name or an IP address without a port or a zone such as `%eth0`, which no URL may have. */
export function readHost(text: string): string | undefined {
  return /^[\w.-]+$/.test(text) || (isIP(text) !== 0 && !text.includes('%')) ? text : undefined;
}

/** Milliseconds in a unit. */
const TIME_UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000 };

/** Reads a time of 1 ms to 60 minutes, in milliseconds. */
export function readTime(text: string): number | undefined {
  const [, count, unit = ''] = /^(\d{1,7})(ms|s|m)$/.exec(text) ?? [];
  const time = Number(count) * (TIME_UNITS[unit] ?? NaN);
  return time >= 1 && time <= 3_600_000 ? time : undefined;
}

/** Reads the path part of {base_url}: empty, or with a leading slash and without a trailing one. */
export function readBasePath(text: string): string | undefined {
  // Excludes the segments . and .., as in /a/../b, which clients resolve before they send a path.
  return /^(?:\/(?!\.{1,2}(?:\/|$))[\w.~-]+)*\/?$/.test(text) ? text.replace(/\/$/, '') : undefined;
}

/** Reads an https URL, or an http URL of this machine, without user information. */
export function readSecureUrl(text: string): string | undefined {
  // The parser of URLs would remove whitespace, but an issuer is compared as it is.
  if (!/^\S+$/.test(text) || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  return isHttpsOrLoopback(url) && url.username === '' && url.password === '' ? text : undefined;
}

/** Returns whether a text is an origin as browsers write it in the Origin header. */
export function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text;
}

export function isHostName(text: string): boolean {
  return /^[\w-]+(?:\.[\w-]+)*$/.test(text);
}

/**
 * Returns whether a text is an address, a network (RFC 4632 §3.1), or a name that proxy-addr has for networks. proxy-addr
 * refuses the prefix 0.
 */
export function isNetwork(text: string): boolean {
  if (/^(?:loopback|linklocal|uniquelocal)$/.test(text)) return true;
  const [, address = '', prefix] = /^([\da-fA-F.:]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const longest = isIP(address) === 4 ? 32 : 128;
  return isIP(address) !== 0 && (prefix === undefined || readNumber(prefix, 1, longest) !== undefined);
}
