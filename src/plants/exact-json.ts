/** Matches a JSON number (RFC 8259 §6), and captures its digits before an exponent. */
const NUMBER = /^-?(\d+(?:\.\d+)?)(?:[eE][+-]?\d+)?$/;

/** No program writes an integer with a point or an exponent that is longer. */
const MAX_LENGTH = 64;

/** A double keeps each decimal of so many significant digits. */
const MAX_CERTAIN_DIGITS = 15;

/**
 * Returns the exact value of a JSON number that is an integer. With a fraction or an exponent, the number must be one
 * that a double keeps: the client's program may have rounded any other, such as 9007199254740993.0, before it was sent.
 *
 * @param text the source text of one JSON value
 * @returns undefined if it is not a number or not an integer, may have been rounded, or has more than 19 digits
 */
export function exactInteger(text: string): bigint | undefined {
  if (/^-?\d{1,19}$/.test(text)) return BigInt(text);
  if (text.length > MAX_LENGTH) return undefined;
  const [, mantissa] = NUMBER.exec(text) ?? [];
  if (mantissa === undefined) return undefined;
  const hasFractionOfZeros = /^-?\d+\.0+$/.test(text);
  const digits = mantissa.replace('.', '').replace(/^0+|0+$/g, '');
  if (!hasFractionOfZeros && digits.length > MAX_CERTAIN_DIGITS) return undefined;
  const value = Number(text);
  // 1e-400 underflows to 0.
  if (!Number.isSafeInteger(value) || (value === 0 && digits !== '')) return undefined;
  return BigInt(value);
}

/**
 * Yields the members of the top-level object of a JSON text, with the source text of each value, because JSON.parse
 * rounds numbers to 53 bits and hides repeated names. From Node 22 on, `context.source` of a reviver has their text.
 *
 * @param json a text that JSON.parse has accepted, and whose value is an object
 */
export function* topLevelMembers(json: string): Generator<[name: string, source: string]> {
  let depth = 0;
  let name: string | undefined;
  /** The index at which the name or the value at depth 1 begins, with white space. */
  let start = 0;
  for (let position = 0; position < json.length; position += 1) {
    const character = json.charAt(position);
    if (character === '"') {
      position = closingQuote(json, position);
    } else if (character === '{' || character === '[') {
      depth += 1;
      if (depth === 1) start = position + 1;
    } else if (character === ':' && depth === 1) {
      name = JSON.parse(json.slice(start, position)) as string;
      start = position + 1;
    } else if (character === ',' || character === '}' || character === ']') {
      if (depth === 1 && name !== undefined) yield [name, json.slice(start, position).trim()];
      if (depth === 1) start = position + 1;
      if (character !== ',') depth -= 1;
    }
  }
}

/** Returns the position of the quote that closes the string whose opening quote is at `from`. */
function closingQuote(json: string, from: number): number {
  let quote = from;
  let backslashes: number;
  do {
    quote = json.indexOf('"', quote + 1);
    backslashes = 0;
    while (json.charAt(quote - 1 - backslashes) === '\\') backslashes += 1;
  } while (backslashes % 2 === 1);
  return quote;
}
