import type { OutgoingHttpHeaders } from 'node:http';
import fc from 'fast-check';
import { anyBlank, type Body } from './plant-json.js';

/** A name, the error number, and a function that corrupts the text of a body. */
type TextCorruption = readonly [what: string, error: number, corrupt: (text: string) => fc.Arbitrary<Body>];

interface Place {
  readonly start: number;
  readonly end: number;
}

/** Returns the places of the strings in a text, with their quotes. */
function stringsIn(text: string): Place[] {
  const matches = text.matchAll(/"(?:[^"\\]|\\.)*"/gs);
  return Array.from(matches, ({ index, 0: { length } }) => ({ start: index, end: index + length }));
}

function oneString(text: string): fc.Arbitrary<Place> {
  return fc.constantFrom(...stringsIn(text));
}

/** Draws one of the member names. */
function oneName(text: string): fc.Arbitrary<Place> {
  return fc.constantFrom(...stringsIn(text).filter(({ end }) => /^[ \t\r\n]*:/.test(text.slice(end))));
}

/** Draws a place between two characters outside the strings. */
function outsideStrings(text: string): fc.Arbitrary<number> {
  const strings = stringsIn(text);
  const isInside = (place: number): boolean => strings.some(({ start, end }) => start < place && place < end);
  return fc.constantFrom(
    ...Array.from({ length: text.length + 1 }, (_, place) => place).filter((place) => !isInside(place)),
  );
}

function inserted(text: string, place: number, addition: string): string {
  return text.slice(0, place) + addition + text.slice(place);
}

/** Inserts one of the additions at one of the places. */
function withOne(text: string, where: fc.Arbitrary<number>, additions: readonly string[]): fc.Arbitrary<string> {
  return fc.tuple(where, fc.constantFrom(...additions)).map(([place, addition]) => inserted(text, place, addition));
}

export const TEXT_CORRUPTIONS: readonly TextCorruption[] = [
  ['is empty', 400, () => fc.constant('')],
  ['is only white space', 400, () => anyBlank.filter((text) => text !== '')],
  ['is truncated', 400, (text) => fc.nat(text.lastIndexOf('}')).map((length) => text.slice(0, length))],
  [
    'lacks its beginning',
    400,
    (text) => fc.integer({ min: text.indexOf('{') + 1, max: text.length }).map((from) => text.slice(from)),
  ],
  [
    'lacks a quote',
    400,
    (text) =>
      fc
        .tuple(oneString(text), fc.boolean())
        .map(([{ start, end }, opening]) => (opening ? start : end - 1))
        .map((place) => text.slice(0, place) + text.slice(place + 1)),
  ],
  [
    'lacks a colon',
    400,
    (text) => oneName(text).map(({ end }) => text.slice(0, end) + text.slice(text.indexOf(':', end) + 1)),
  ],
  [
    'has a stray character outside its strings',
    400,
    (text) =>
      withOne(text, outsideStrings(text), Array.from('{}[]:"\'\\/#;=()<>|&~^@$%!?*`\0\v\f\u007f\u0085\u00a0\u2028')),
  ],
  ['has a comment', 400, (text) => withOne(text, outsideStrings(text), ['/**/', '// x\n', '# x\n', '<!---->'])],
  [
    'has a superfluous comma',
    400,
    (text) => {
      const braces = [text.indexOf('{'), text.lastIndexOf('}')];
      return withOne(text, fc.constantFrom(...braces.flatMap((place) => [place, place + 1])), [',']);
    },
  ],
  [
    'has an unescaped control character in a string',
    400,
    (text) =>
      oneString(text)
        .chain(({ start, end }) => fc.tuple(fc.integer({ min: start + 1, max: end - 1 }), fc.nat(0x1f)))
        .map(([place, code]) => inserted(text, place, String.fromCharCode(code))),
  ],
  [
    'has an unknown escape',
    400,
    (text) =>
      withOne(
        text,
        oneString(text).map(({ start }) => start + 1),
        ['\\a', "\\'", '\\0', '\\x41', '\\U0041', '\\u{41}', '\\u12g4', '\\u+041', '\\ ', '\\\n'],
      ),
  ],
  [
    'has a name in single quotes or without quotes',
    400,
    (text) =>
      fc
        .tuple(oneName(text), fc.constantFrom("'", ''))
        .map(([{ start, end }, quote]) =>
          [text.slice(0, start), text.slice(start + 1, end - 1), text.slice(end)].join(quote),
        ),
  ],
  ['has a suffix', 400, (text) => fc.constantFrom('{}', 'null', '0', '""', '}', text).map((more) => text + more)],
  ['begins with a byte order mark', 400, (text) => fc.constant(`\ufeff${text}`)],
  [
    'is in UTF-16',
    400,
    (text) =>
      fc.constantFrom('', '\ufeff').chain((mark) => {
        const bytes = Buffer.from(mark + text, 'utf16le');
        return fc.constantFrom(bytes, Buffer.from(bytes).swap16());
      }),
  ],
  [
    'has bytes that are not UTF-8',
    400,
    (text) => {
      const bytes = Buffer.from(text);
      // Bytes that never occur, lone and missing continuations, overlong forms; then surrogates and U+110000 on.
      const never = ['ff', 'fe', '80', 'bf', 'c3', 'e282', 'f09f8c', 'c080', 'c1bf', 'e08080', 'f0808080'];
      const unpaired = ['eda080', 'edbfbf', 'eda0bdedb8b4', 'f4908080', 'f5808080', 'f888808080'];
      return fc
        .tuple(fc.nat(bytes.length), fc.constantFrom(...never, ...unpaired))
        .map(([place, hex]) =>
          Buffer.concat([bytes.subarray(0, place), Buffer.from(hex, 'hex'), bytes.subarray(place)]),
        );
    },
  ],
  ['is wrapped in an array', 422, (text) => fc.constantFrom(`[${text}]`, `[${text},${text}]`, `[[${text}]]`)],
  ['is a JSON string of the plant', 422, (text) => fc.constant(JSON.stringify(text))],
  [
    'is JSON, but not an object',
    422,
    () => fc.constantFrom('null', 'true', '0', '-0', '1e400', '""', '[]', ' [ ] ', '[{}]', '["id","name"]'),
  ],
];

function mediaTypes(...types: readonly string[]): readonly OutgoingHttpHeaders[] {
  return types.map((type) => ({ 'Content-Type': type }));
}

/** A name, the error number, and the headers of the corruption. */
export const HEADER_CORRUPTIONS: readonly (readonly [string, number, readonly OutgoingHttpHeaders[]])[] = [
  ['without a media type', 415, [{}]],
  [
    'with a media type similar to JSON',
    415,
    mediaTypes('text/json', 'application/merge-patch+json', 'application/jsonl'),
  ],
  [
    'with another media type',
    415,
    mediaTypes('text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'),
  ],
  ['with an invalid media type', 415, mediaTypes('', 'json', 'application', '*/*', '"application/json"')],
  ['with two media types', 415, mediaTypes('application/json, text/plain', 'text/plain;application/json')],
  [
    'with a content coding',
    415,
    ['gzip', 'br', 'x', 'identity, gzip'].map((coding) => ({
      'Content-Type': 'application/json',
      'Content-Encoding': coding,
    })),
  ],
];
