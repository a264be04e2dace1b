/** Maximum bytes of a request body, unless the option `body.limit` or the variable BODY_LIMIT sets another limit. */
export const DEFAULT_BODY_LIMIT = 1_048_576;

/** Bytes in a unit. */
const UNITS: Readonly<Record<string, number>> = { b: 1, kb: 1_024, mb: 1_048_576 };

/** The rule of `parseBodyLimit`, for messages. */
export const BODY_LIMIT_RULE = 'a size from 1b to 255mb, for example 512kb';

/**
 * Parses a size, and returns it in bytes; undefined if it is not valid. The maximum is 255 MiB: SQL doubles each quotation
 * mark, and V8 has no string of 512 MiB.
 */
export function parseBodyLimit(text: string): number | undefined {
  const [, count, unit = 'b'] = /^(\d{1,9}(?:\.\d+)?)(b|kb|mb)?$/.exec(text.toLowerCase()) ?? [];
  const size = Math.floor(Number(count) * (UNITS[unit] ?? NaN));
  return size >= 1 && size <= 267_386_880 ? size : undefined;
}
