/** The parts of a JSON number (RFC 8259 §6). */
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** No integer with more digits fits 64 bits. */
const MAX_DIGITS = 19;

/**
 * The value of a JSON number if it is an integer, however it is written (`7`, `7.0`, `70e-1`), in a time that is
 * linear in the length of the text.
 *
 * @param text one JSON value, as it was written
 * @returns undefined where it is no number, no integer, or has more than 19 digits
 */
export function exactInteger(text: string): bigint | undefined {
  const [, sign, whole = '', fraction = '', exponent = '0'] = NUMBER.exec(text) ?? [];
  if (sign === undefined) return undefined;
  const digits = whole + fraction;
  let start = 0;
  let end = digits.length;
  while (start < end && digits.startsWith('0', start)) start += 1;
  while (end > start && digits.startsWith('0', end - 1)) end -= 1;
  if (start === end) return 0n;
  // How many zeros follow the digits that remain; an exponent too long for a number is Infinity.
  const zeros = Number(exponent) - fraction.length + digits.length - end;
  if (zeros < 0 || end - start + zeros > MAX_DIGITS) return undefined;
  return BigInt(sign + digits.slice(start, end) + '0'.repeat(zeros));
}
