import { isIP } from 'node:net';
import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { IsInt, Max, Min, ValidateBy, type ValidationOptions } from 'class-validator';
import { OperatorError } from '../operator-error.js';
import { MAX_BODY_LIMIT } from '../plants/resolve-options.js';

/**
 * Completes the message "PORT must be …", with an example. The message must not have the value, which may be a secret.
 */
export function mustBe(rule: string): ValidationOptions {
  return { message: `must be ${rule}` };
}

/** Requires a value that the function accepts. */
export function Passes(accepts: (value: never) => boolean, options: ValidationOptions): PropertyDecorator {
  return ValidateBy({ name: 'passes', validator: { validate: (value: never) => accepts(value) } }, options);
}

/** Reads the text with this function, which throws an OperatorError with the rule that the text breaks. */
export function ReadBy(read: (text: string) => unknown): PropertyDecorator {
  return applyDecorators(
    // An error takes the place of the value, because class-validator tells the faults of all settings.
    Transform(({ value }) => resultOrError(() => read(value as string))),
    Passes((result: unknown) => !(result instanceof OperatorError), {
      message: ({ value }) => (value as OperatorError).message,
    }),
  );
}

function resultOrError(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    if (error instanceof OperatorError) return error;
    throw error;
  }
}

/** Reads a whole number within these bounds. */
export function WholeNumber(least: number, greatest: number, example: number): PropertyDecorator {
  const rule = mustBe(`a number from ${least} to ${greatest}, for example ${example}`);
  return applyDecorators(
    Transform(({ value }) => readNumber(value as string)),
    IsInt(rule),
    Min(least, rule),
    Max(greatest, rule),
  );
}

/** Reads a time of 1 ms to 60 minutes, in milliseconds. */
export function Time(): PropertyDecorator {
  const rule = mustBe('a time from 1ms to 60m, for example 30s');
  return applyDecorators(
    Transform(({ value }) => readTime(value as string)),
    Min(1, rule),
    Max(3_600_000, rule),
  );
}

/** Reads the size of a body, in bytes. */
export function Size(): PropertyDecorator {
  const rule = mustBe('a size from 1b to 255mb, for example 512kb');
  return applyDecorators(
    Transform(({ value }) => readSize(value as string)),
    Min(1, rule),
    Max(MAX_BODY_LIMIT, rule),
  );
}

/** Reads values that are separated by commas, each of which the function accepts. */
export function List(accepts: (text: string) => boolean, rule: string): PropertyDecorator {
  return applyDecorators(
    Transform(({ value }) => (value as string).split(',').map((text) => text.trim())),
    Passes(accepts, { ...mustBe(rule), each: true }),
  );
}

/** Reads decimal digits; `Number` would also read blanks, as 0. */
function readNumber(text: string): number {
  return /^\d+$/.test(text) ? Number(text) : NaN;
}

/** Reads a port or the word off. */
export function readPortOrOff(text: string): number | 'off' {
  if (text === 'off') return text;
  const port = readNumber(text);
  if (port <= 65_535) return port;
  throw new OperatorError('must be off, or a number from 0 to 65535, for example 8080');
}

function readTime(text: string): number {
  const [, count, unit = ''] = /^(\d+)(ms|s|m)$/.exec(text) ?? [];
  return Number(count) * ({ ms: 1, s: 1_000, m: 60_000 }[unit] ?? NaN);
}

function readSize(text: string): number {
  const [, count, unit = 'b'] = /^(\d+(?:\.\d+)?)(b|kb|mb)?$/.exec(text.toLowerCase()) ?? [];
  return Math.floor(Number(count) * ({ b: 1, kb: 1_024, mb: 1_048_576 }[unit] ?? NaN));
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
