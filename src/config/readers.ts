import { isIP } from 'node:net';
import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { ValidateBy } from 'class-validator';
import { OperatorError } from '../operator-error.js';
import { MAX_BODY_LIMIT } from '../plants/resolve-options.js';

/**
 * Returns the value of a setting's text, or throws an OperatorError whose message completes "PORT …" with the rule and
 * an example. The message must not have the text, which may be a secret.
 */
type Reader<Value> = (text: string) => Value;

/** Reads the text of a setting by this function. */
export function ReadBy(read: Reader<unknown>): PropertyDecorator {
  return applyDecorators(
    // An error takes the place of the value, because class-validator tells the faults of all settings.
    Transform(({ value }) => valueOrFault(read, value as string)),
    ValidateBy({
      name: 'isRead',
      validator: {
        validate: (value) => !(value instanceof OperatorError),
        defaultMessage: (fault) => (fault?.value as OperatorError).message,
      },
    }),
  );
}

function valueOrFault(read: Reader<unknown>, text: string): unknown {
  try {
    return read(text);
  } catch (error) {
    if (error instanceof OperatorError) return error;
    throw error;
  }
}

/** Makes a reader of a rule, and of a function that returns undefined for a text that breaks the rule. */
export function mustBe<Value>(rule: string, parse: (text: string) => Value | undefined): Reader<Value> {
  return (text) => {
    const value = parse(text);
    if (value === undefined) throw new OperatorError(`must be ${rule}`);
    return value;
  };
}

/** Makes a reader of texts that the function accepts. */
export function textOf(accepts: (text: string) => boolean, rule: string): Reader<string> {
  return mustBe(rule, (text) => (accepts(text) ? text : undefined));
}

/** Makes a reader of texts that are separated by commas, each of which the function accepts. */
export function listOf(accepts: (text: string) => boolean, rule: string): Reader<string[]> {
  return mustBe(rule, (list) => {
    const texts = list.split(',').map((text) => text.trim());
    return texts.every(accepts) ? texts : undefined;
  });
}

export function oneOf(values: readonly string[], example: string): Reader<string> {
  return textOf((text) => values.includes(text), `one of ${values.join(', ')}, for example ${example}`);
}

export function filePath(example: string): Reader<string> {
  return textOf((text) => /\S/.test(text), `the path of a file, for example ${example}`);
}

export function wholeNumber(least: number, greatest: number, example: number): Reader<number> {
  return mustBe(`a number from ${least} to ${greatest}, for example ${example}`, (text) =>
    within(least, greatest, parseQuantity(text, /^(\d+)$/)),
  );
}

export const portOrOff = mustBe('off, or a number from 0 to 65535, for example 8080', (text) =>
  text === 'off' ? text : within(0, 65_535, parseQuantity(text, /^(\d+)$/)),
);

/** Reads a time, in milliseconds. */
export const time = mustBe('a time from 1ms to 60m, for example 30s', (text) =>
  within(1, 3_600_000, parseQuantity(text, /^(\d+)(ms|s|m)$/, { ms: 1, s: 1_000, m: 60_000 })),
);

/** Reads the size of a body, in bytes. */
export const size = mustBe('a size from 1b to 255mb, for example 512kb', (text) =>
  within(1, MAX_BODY_LIMIT, parseQuantity(text, /^(\d+(?:\.\d+)?)(b|kb|mb)?$/i, { b: 1, kb: 1_024, mb: 1_048_576 })),
);

/**
 * Reads a number and its unit, such as 30s. Returns undefined for a text that does not match.
 *
 * @param pattern has a group for the number and, if there are units, one for the unit
 * @param units the factor of each
 * @returns a whole number of the smallest unit
 */
function parseQuantity(
  text: string,
  pattern: RegExp,
  units: Readonly<Record<string, number>> = {},
): number | undefined {
  const [, count, unit = ''] = pattern.exec(text) ?? [];
  if (count === undefined) return undefined;
  // A size without a unit is in bytes.
  return Math.floor(Number(count) * (units[unit.toLowerCase()] ?? 1));
}

function within(least: number, greatest: number, value: number | undefined): number | undefined {
  return value !== undefined && value >= least && value <= greatest ? value : undefined;
}

/**
 * Returns whether a text is a host name or an IP address, without a port or a zone such as `%eth0`, which no URL may
 * have.
 */
export function isHost(text: string): boolean {
  return /^[\w.-]+$/.test(text) || (isIP(text) !== 0 && !text.includes('%'));
}

/** Returns whether a text is an https or http URL without user information. */
export function isUrl(text: string): boolean {
  // The parser of URLs would remove whitespace, but an issuer is compared as it is.
  if (!/^\S+$/.test(text) || !URL.canParse(text)) return false;
  const url = new URL(text);
  return /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
}

/** Returns whether a text is an origin as browsers write it in the Origin header. */
export function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text;
}

/**
 * Returns whether a text is an address, a network (RFC 4632 §3.1), or a name that proxy-addr has for networks.
 * proxy-addr refuses the prefix 0.
 */
export function isNetwork(text: string): boolean {
  if (/^(?:loopback|linklocal|uniquelocal)$/.test(text)) return true;
  const [, address = '', prefix = '1'] = /^([\da-fA-F.:]+)(?:\/([1-9]\d*))?$/.exec(text) ?? [];
  return isIP(address) !== 0 && Number(prefix) <= (isIP(address) === 4 ? 32 : 128);
}
