import { isIP } from 'node:net';

/** The rule for the text of a variable. */
export interface Rule<Value> {
  /** Reads the text; returns undefined if it breaks the rule. */
  readonly parse: (text: string) => Value | undefined;
  /** Completes the message "PORT must be …", with an example. */
  readonly rule: string;
}

type Parser<Value> = Rule<Value>['parse'];

export function satisfying(test: (text: string) => boolean): Parser<string> {
  return (text) => (test(text) ? text : undefined);
}

/** Reads values that are separated by commas. */
export function listOf(test: (text: string) => boolean): Parser<readonly string[]> {
  return (text) => {
    const values = text.split(',').map((value) => value.trim());
    return values.every(test) ? values : undefined;
  };
}

export function oneOf<const Value extends string>(
  values: readonly Value[],
  { example }: { readonly example: Value },
): Rule<Value> {
  return {
    parse: (text) => values.find((value) => value === text),
    rule: `one of ${values.join(', ')}, for example ${example}`,
  };
}

/** Accepts a decimal integer without a sign. */
export function numberFrom(least: number, greatest: number, { example }: { readonly example: number }): Rule<number> {
  return {
    parse(text) {
      const value = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
      return value >= least && value <= greatest ? value : undefined;
    },
    rule: `a number from ${least} to ${greatest}, for example ${example}`,
  };
}

export function pathOf(example: string): Rule<string> {
  return { parse: satisfying((text) => /./.test(text)), rule: `the path of a file, for example ${example}` };
}

export const HOST_NAME: Rule<string> = {
  parse: satisfying((text) => /^[\w.:-]+$/.test(text)),
  rule: 'a host name or an IP address, for example 0.0.0.0',
};

/** Milliseconds in a unit. */
const TIME_UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000 };

/** A duration in milliseconds. */
export const DURATION: Rule<number> = {
  parse(text) {
    const [, count, unit = ''] = /^(\d{1,7})(ms|s|m)$/.exec(text) ?? [];
    const duration = Number(count) * (TIME_UNITS[unit] ?? NaN);
    return duration >= 1 && duration <= 3_600_000 ? duration : undefined;
  },
  rule: 'a time from 1ms to 60m, for example 30s',
};

/** The path part of {base_url}: empty, or with a leading slash and without a trailing one. */
export const BASE_PATH: Rule<string> = {
  // Clients resolve the segments . and .. before they send a path.
  parse: (text) => (/^(?:\/(?!\.{1,2}(?:\/|$))[\w.~-]+)*\/?$/.test(text) ? text.replace(/\/$/, '') : undefined),
  rule: 'a path that begins with a slash, for example /v1',
};

export const NETWORKS: Rule<readonly string[]> = {
  parse: listOf(isNetwork),
  rule: 'addresses or networks separated by commas, but not /0, which has all clients, for example 127.0.0.1,10.0.0.0/8',
};

/** Origins as browsers write them in the Origin header. */
export const ORIGINS: Rule<readonly string[]> = {
  parse: listOf((text) => URL.canParse(text) && new URL(text).origin === text),
  rule: 'origins without a path, separated by commas, for example https://plants.example',
};

/**
 * Accepts an address, a network (RFC 4632 §3.1), or a name that proxy-addr has for networks. proxy-addr refuses the
 * prefix 0.
 */
function isNetwork(text: string): boolean {
  if (/^(?:loopback|linklocal|uniquelocal)$/.test(text)) return true;
  const [, address = '', prefix = '1'] = /^([\da-fA-F.:]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  return isIP(address) !== 0 && Number(prefix) >= 1 && Number(prefix) <= (isIP(address) === 4 ? 32 : 128);
}
