const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPENING_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
const SPACE = 0x20;

/**
 * Visits the members of the top-level object of a JSON text, with the source text of each value: JSON.parse rounds
 * numbers to 53 bits and hides repeated names. The time is linear in the length of the text.
 *
 * @param json a text that JSON.parse accepts, and whose value is an object
 * @param visit called with the name of each member and the source text of its value, in order
 */
export function visitTopLevelMembers(json: string, visit: (name: string, value: string) => void): void {
  let position = json.indexOf('{') + 1;
  for (;;) {
    position = skip(json, position, COMMA);
    if (json.charCodeAt(position) === CLOSING_BRACE) return;
    const endOfName = endOfString(json, position);
    const startOfValue = skip(json, endOfName, COLON);
    const name = json.slice(position, endOfName);
    position = endOfValue(json, startOfValue);
    visit(name.includes('\\') ? (JSON.parse(name) as string) : name.slice(1, -1), json.slice(startOfValue, position));
  }
}

/** Returns the position after white space and one mark, a comma or a colon. */
function skip(json: string, from: number, mark: number): number {
  let position = from;
  for (;;) {
    const code = json.charCodeAt(position);
    // In valid JSON, only white space has codes up to that of the space here.
    if (code > SPACE && code !== mark) return position;
    position += 1;
  }
}

/** Returns the position after the string whose opening quote is at `from`. */
function endOfString(json: string, from: number): number {
  let quote = from;
  for (;;) {
    quote = json.indexOf('"', quote + 1);
    let backslashes = 0;
    while (json.charCodeAt(quote - 1 - backslashes) === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return quote + 1;
  }
}

/** Returns the position after the value that begins at `from`. */
function endOfValue(json: string, from: number): number {
  let position = from;
  let depth = 0;
  for (;;) {
    const code = json.charCodeAt(position);
    if (code === QUOTE) {
      position = endOfString(json, position);
      continue;
    }
    if (code === OPENING_BRACE || code === OPENING_BRACKET) {
      depth += 1;
    } else if (code === CLOSING_BRACE || code === CLOSING_BRACKET) {
      if (depth === 0) return position;
      depth -= 1;
      if (depth === 0) return position + 1;
    } else if (depth === 0 && (code === COMMA || code <= SPACE)) {
      return position;
    }
    position += 1;
  }
}
