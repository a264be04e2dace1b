/** Captures the sign, the digits and the exponent of a JSON number such as `-7.50e+3` (RFC 8259 §6). */
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
  // Almost all ids have this spelling.
  if (/^-?\d{1,18}$/.test(text)) return BigInt(text);
  const [, sign, whole = '', fraction = '', exponent = '0'] = NUMBER.exec(text) ?? [];
  if (sign === undefined) return undefined;
  const digits = whole + fraction;
  let start = 0;
  let end = digits.length;
  while (start < end && digits.startsWith('0', start)) start += 1;
  while (end > start && digits.startsWith('0', end - 1)) end -= 1;
  if (start === end) return 0n;
  const removedZeros = digits.length - end;
  // The power of ten of the last remaining digit: 1 for the 5 of `7.50e2`, which is 750. Number() turns an exponent that is too
  // long into Infinity.
  const lastPower = Number(exponent) - fraction.length + removedZeros;
  if (lastPower < 0 || end - start + lastPower > MAX_DIGITS) return undefined;
  return BigInt(sign + digits.slice(start, end) + '0'.repeat(lastPower));
}

/**
 * Yields the members of the top-level object of a JSON text, with the source text of each value, because JSON.parse rounds
 * numbers to 53 bits and hides repeated names. The time is linear in the length of the text.
 *
 * @param json a text that JSON.parse has accepted, and whose value is an object
 * @throws {Error} if another text ends before its object
 */
export function* topLevelMembers(json: string): Generator<[name: string, source: string]> {
  let position = json.indexOf('{') + 1;
  for (;;) {
    position = skip(json, position, ',');
    if (position >= json.length) throw new Error('The text is not a JSON object');
    if (json.charAt(position) === '}') return;
    const endOfName = endOfString(json, position);
    const startOfValue = skip(json, endOfName, ':');
    const name = json.slice(position + 1, endOfName - 1);
    position = endOfValue(json, startOfValue);
    yield [name.includes('\\') ? (JSON.parse(`"${name}"`) as string) : name, json.slice(startOfValue, position)];
  }
}

/** Returns the position after white space and one mark, a comma or a colon. */
function skip(json: string, from: number, mark: string): number {
  let position = from;
  while (position < json.length && (json.charAt(position) === mark || isSpace(json.charAt(position)))) position += 1;
  return position;
}

/** Returns the position after the string whose opening quote is at `from`. */
function endOfString(json: string, from: number): number {
  let quote = from;
  for (;;) {
    quote = json.indexOf('"', quote + 1);
    if (quote < 0) throw new Error('The text has no closing quote');
    let backslashes = 0;
    while (json.charAt(quote - 1 - backslashes) === '\\') backslashes += 1;
    if (backslashes % 2 === 0) return quote + 1;
  }
}

/** Returns the position after the value that begins at `from`. */
function endOfValue(json: string, from: number): number {
  let position = from;
  let depth = 0;
  while (position < json.length) {
    const character = json.charAt(position);
    if (depth === 0 && (character === ',' || character === '}' || isSpace(character))) return position;
    if (character === '{' || character === '[') depth += 1;
    if (character === '}' || character === ']') depth -= 1;
    position = character === '"' ? endOfString(json, position) : position + 1;
  }
  throw new Error('The text ends within a value');
}

/** Returns whether a character of valid JSON, outside of strings, is white space: no other one is below the space. */
function isSpace(character: string): boolean {
  return character <= ' ';
}
