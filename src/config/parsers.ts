import { isIP } from 'node:net';

/** Reads the text of a variable; returns undefined if it breaks the rule of its setting. */
export type Parser<Value> = (text: string) => Value | undefined;

export function matching(pattern: RegExp): Parser<string> {
  return (text) => (pattern.test(text) ? text : undefined);
}

export function satisfying(test: (text: string) => boolean): Parser<string> {
  return (text) => (test(text) ? text : undefined);
}

export function oneOf<const Value extends string>(values: readonly Value[]): Parser<Value> {
  return (text) => values.find((value) => value === text);
}

/** Reads values that are separated by commas. */
export function listOf(test: (text: string) => boolean): Parser<readonly string[]> {
  return (text) => {
    const values = text.split(',').map((value) => value.trim());
    return values.every(test) ? values : undefined;
  };
}

/** Reads a decimal integer without a sign. */
export function integer(least: number, greatest: number): Parser<number> {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
    return value >= least && value <= greatest ? value : undefined;
  };
}

/** Milliseconds in a unit. */
const TIME_UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000 };

/** Reads a duration of up to an hour, in milliseconds. */
export function parseDuration(text: string): number | undefined {
  const [, count, unit = ''] = /^(\d{1,7})(ms|s|m)$/.exec(text) ?? [];
  const duration = Number(count) * (TIME_UNITS[unit] ?? NaN);
  return duration >= 1 && duration <= 3_600_000 ? duration : undefined;
}

/** Reads the path part of {base_url}: empty, or with a leading slash and without a trailing one. */
export function parseBasePath(text: string): string | undefined {
  // Clients resolve the segments . and .. before they send a path.
  return /^(?:\/(?!\.{1,2}(?:\/|$))[\w.~-]+)*\/?$/.test(text) ? text.replace(/\/$/, '') : undefined;
}

/**
 * Accepts an address, a network (RFC 4632 §3.1), or a name that proxy-addr has for networks. proxy-addr refuses the
 * prefix 0.
 */
export function isNetwork(text: string): boolean {
  if (/^(?:loopback|linklocal|uniquelocal)$/.test(text)) return true;
  const [, address = '', prefix = '1'] = /^([\da-fA-F.:]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  return isIP(address) !== 0 && Number(prefix) >= 1 && Number(prefix) <= (isIP(address) === 4 ? 32 : 128);
}

/** Accepts an origin as browsers write it in the Origin header. */
export function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text;
}
