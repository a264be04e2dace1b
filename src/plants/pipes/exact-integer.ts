/** The parts of a JSON number (RFC 8259 §6). */
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** An integer with more digits does not fit 64 bits. */
const MAX_DIGITS = 19;

/**
 * Returns the exact value of a JSON number that is an integer, in any spelling (`7`, `7.0`, `70e-1`). The time is linear
 * in the length of the text.
 *
 * @param text the source text of one JSON value
 * @returns undefined if it is not a number, not an integer, or has more than 19 digits
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
  // The number of zeros after the remaining digits; Number() turns an exponent that is too long into Infinity.
  const zeros = Number(exponent) - fraction.length + digits.length - end;
  if (zeros < 0 || end - start + zeros > MAX_DIGITS) return undefined;
  return BigInt(sign + digits.slice(start, end) + '0'.repeat(zeros));
}
