import { Agent, type OutgoingHttpHeaders, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import fc from 'fast-check';
import { type Service, startService, TOKEN } from '../support/service.js';

/** Runs of the property of all valid plants; each sends two requests. */
const VALID_RUNS = 1_000;

/** Runs of the property of one id for two plants; each sends two requests. */
const CONFLICT_RUNS = 200;

/** Runs of each of the corruptions, of which there are dozens. */
const RUNS_PER_CORRUPTION = 50;

const MIN = -(2n ** 63n);
const MAX = 2n ** 63n - 1n;
const FIELDS = ['id', 'name', 'tag'] as const;

interface Plant {
  readonly id: bigint;
  readonly name: string;
  readonly tag: string | undefined;
}

/** A JSON value before it is written; what `written` holds is taken as it is. */
type Value = string | { readonly written: string } | readonly Value[] | { readonly members: Members };

/** An object's members as pairs: their order counts here, and names may come twice. */
type Members = readonly (readonly [name: string, value: Value])[];

/** How a character of a string is written, where it can be: as itself, in two characters, as \u00e9 or as \u00E9. */
type Style = 'plain' | 'short' | 'lower' | 'upper';

/** How a number is written. */
interface NumeralStyle {
  /** The exponent: the point moves the other way. */
  readonly exponent: number;
  /** Zeros after the last decimal. */
  readonly zeros: number;
  /** Zeros before the digits of the exponent. */
  readonly padding: number;
  readonly e: 'e' | 'E';
  readonly plus: boolean;
  /** Whether zero has a minus. */
  readonly minus: boolean;
  /** Whether an exponent of 0 is left away. */
  readonly bare: boolean;
}

/** What JSON leaves to the one who writes; the styles and the blanks are gone through over and over. */
interface Spelling {
  readonly numeral: NumeralStyle;
  readonly styles: readonly Style[];
  readonly blanks: readonly string[];
  /** The members come in the order of these. */
  readonly ranks: readonly number[];
  readonly extras: Members;
}

interface Valid {
  readonly plant: Plant;
  readonly members: Members;
  readonly spelling: Spelling;
  readonly text: string;
}

type Body = string | Uint8Array;

interface Answer {
  readonly status: number | undefined;
  readonly type: string | undefined;
  readonly text: string;
}

const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '/': '\\/',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};

// What is drawn.

const anyCharacter = fc.oneof(
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }).filter((drawn) => drawn !== '\0'),
  fc.constantFrom(...Object.keys(SHORT_ESCAPES), '\u0001', '\u001f', '\u007f', '\u2028', '\u2029', '\ufeff', '\uffff'),
  fc.constantFrom('\u0301', '\u200d', '\u202e', '\u{10000}', '\u{1fab4}', '\u{10ffff}', ' ', "'", '{', '}', ',', ':'),
);

const anyText = fc.string({ unit: anyCharacter, maxLength: 12 });

const anyId = fc.oneof(
  fc.bigInt({ min: MIN, max: MAX }),
  fc.bigInt({ min: -1_000n, max: 1_000n }),
  fc
    .tuple(
      fc.constantFrom(MIN, -(2n ** 53n), -(2n ** 31n), 0n, 2n ** 31n, 2n ** 32n, 2n ** 53n, 10n ** 18n, MAX),
      fc.bigInt({ min: -3n, max: 3n }),
    )
    .map(([edge, distance]) => edge + distance)
    .filter((near) => near >= MIN && near <= MAX),
);

const anyPlant: fc.Arbitrary<Plant> = fc.record({
  id: anyId,
  name: anyText,
  tag: fc.option(anyText, { nil: undefined }),
});

/** What is text in JSON and not in every store. */
const halfOfPair = fc.constantFrom('\ud800', '\udbff', '\udc00', '\udfff', '\ude00\ud83d');

const { anyValue } = fc.letrec<{ anyValue: Value }>((tie) => ({
  anyValue: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    oneWritten('null', 'true', 'false'),
    oneWritten('0', '-0', '7', '1.50', '1e400', '-1E-7', '9007199254740993'),
    anyText,
    fc.oneof(halfOfPair, fc.constant('\0')),
    fc.array(tie('anyValue'), { maxLength: 3 }),
    fc
      .array(fc.tuple(fc.oneof(fc.constantFrom<string>(...FIELDS, '__proto__', ''), anyText), tie('anyValue')), {
        maxLength: 4,
      })
      .map((members) => ({ members })),
  ),
}));

const noText = anyValue.filter((value) => typeof value !== 'string');

const noTextOrNumber = noText.filter((value) => !('written' in value) || !/\d/.test(value.written));

/** Members that are nobody's business, and some that a careless program would mind. */
const anyExtras = fc.array(
  fc.tuple(
    fc.oneof(
      fc.constantFrom('__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'access_token'),
      fc.constantFrom('', 'ID', 'id ', 'id\0', 'Name', 'tag[]', 'plant', '\ud800'),
      anyText.filter((name) => !FIELDS.some((field) => field === name)),
    ),
    anyValue,
  ),
  { maxLength: 4 },
);

const anyNumeralStyle: fc.Arbitrary<NumeralStyle> = fc.record({
  exponent: fc.oneof(fc.constant(0), fc.integer({ min: -25, max: 25 })),
  zeros: fc.oneof(fc.nat(3), fc.constant(500)),
  padding: fc.oneof(fc.nat(3), fc.constant(500)),
  e: fc.constantFrom('e', 'E'),
  plus: fc.boolean(),
  minus: fc.boolean(),
  bare: fc.boolean(),
});

const anyBlank = fc.string({ unit: fc.constantFrom(' ', '\t', '\r', '\n'), maxLength: 3 });

const anySpelling: fc.Arbitrary<Spelling> = fc.record({
  numeral: anyNumeralStyle,
  styles: fc.array(fc.constantFrom<Style>('plain', 'short', 'lower', 'upper'), { minLength: 1, maxLength: 7 }),
  blanks: fc.array(anyBlank, { minLength: 1, maxLength: 5 }),
  ranks: fc.array(fc.nat(99), { minLength: 7, maxLength: 7 }),
  extras: anyExtras,
});

const anyValid: fc.Arbitrary<Valid> = fc.record({ plant: anyPlant, spelling: anySpelling }).map((drawn) => {
  const members = membersOf(drawn.plant, drawn.spelling);
  return { ...drawn, members, text: textOf(members, drawn.spelling) };
});

// How it is written.

/** The members of a body that says this plant, in the order of the ranks. */
function membersOf({ id, name, tag }: Plant, { numeral, ranks, extras }: Spelling): Members {
  const members: Members = [
    ['id', { written: numeralOf(id, 0, numeral) }],
    ['name', name],
    ...(tag === undefined ? [] : [['tag', tag] as const]),
    ...extras,
  ];
  return members
    .map((member, index) => ({ member, rank: ranks[index] ?? 0 }))
    .sort((one, other) => one.rank - other.rank)
    .map(({ member }) => member);
}

/** The number digits × 10^tens. */
function numeralOf(digits: bigint, tens: number, style: NumeralStyle): string {
  const sign = digits < 0n || (digits === 0n && style.minus) ? '-' : '';
  const magnitude = `${digits < 0n ? -digits : digits}`;
  const decimals = style.exponent - tens;
  // Zero stays one digit before the point: JSON has no leading zeros.
  const shifted = digits === 0n ? magnitude : magnitude + '0'.repeat(Math.max(-decimals, 0));
  const padded = shifted.padStart(decimals + 1, '0');
  const point = padded.length - Math.max(decimals, 0);
  const fraction = padded.slice(point) + '0'.repeat(style.zeros);
  return sign + padded.slice(0, point) + (fraction && `.${fraction}`) + exponentOf(style);
}

function exponentOf({ exponent, padding, e, plus, bare }: NumeralStyle): string {
  if (exponent === 0 && bare) return '';
  const sign = exponent < 0 ? '-' : plus ? '+' : '';
  return `${e}${sign}${'0'.repeat(padding)}${Math.abs(exponent)}`;
}

function textOf(members: Members, { styles, blanks }: Spelling): string {
  const style = endlessly(styles);
  const blank = endlessly(blanks);
  const spaced = (text: string): string => `${blank.next().value}${text}${blank.next().value}`;
  const write = (value: Value): string => {
    if (typeof value === 'string') return `"${value.replace(/./gsu, (each) => escaped(each, style.next().value))}"`;
    if ('written' in value) return value.written;
    if ('members' in value) {
      return `{${value.members.map(([name, item]) => `${spaced(write(name))}:${spaced(write(item))}`).join(',') || spaced('')}}`;
    }
    return `[${value.map((item) => spaced(write(item))).join(',') || spaced('')}]`;
  };
  return spaced(write({ members }));
}

function* endlessly<T>(items: readonly T[]): Generator<T, never> {
  for (;;) yield* items;
}

/** One character, which may be half of a surrogate pair, within a string. */
function escaped(character: string, style: Style): string {
  const short = SHORT_ESCAPES[character];
  const mayBePlain = character >= ' ' && character !== '"' && character !== '\\' && !/\p{Surrogate}/u.test(character);
  if (style === 'plain' && mayBePlain) return character;
  if (style === 'short' && (short !== undefined || mayBePlain)) return short ?? character;
  return Array.from({ length: character.length }, (_, index) => {
    const hex = character.charCodeAt(index).toString(16).padStart(4, '0');
    return `\\u${style === 'upper' ? hex.toUpperCase() : hex}`;
  }).join('');
}

function oneWritten(...texts: readonly string[]): fc.Arbitrary<Value> {
  return fc.constantFrom(...texts).map((written) => ({ written }));
}

// How it goes wrong.

/** What is wrong, with which error and the fields that the message names, and how to make it so. */
type MemberCorruption = readonly [
  what: string,
  error: number,
  named: readonly string[],
  corrupt: (members: Members) => fc.Arbitrary<Members>,
];

/** These members with this value of this field, in its place or at the end. */
function replaced(members: Members, field: string, value: Value): Members {
  if (!members.some(([name]) => name === field)) return [...members, [field, value]];
  return members.map((member) => (member[0] === field ? [field, value] : member));
}

/** A field that has a value of another kind. */
function wrong(field: string, kind: string, values: fc.Arbitrary<Value>): MemberCorruption {
  return [`${field} is ${kind}`, 422, [field], (members) => values.map((value) => replaced(members, field, value))];
}

/** A field that is given twice, with the same value or another. */
function twice(field: string): MemberCorruption {
  const corrupt = (members: Members): fc.Arbitrary<Members> =>
    fc.tuple(anyValue, anyValue, fc.boolean(), fc.nat(members.length)).map(([one, another, same, place]) => {
      const once = members.some(([name]) => name === field) ? members : replaced(members, field, one);
      const given = once.find(([name]) => name === field)?.[1] ?? one;
      return [...once.slice(0, place), [field, same ? given : another], ...once.slice(place)];
    });
  return [`${field} is given twice`, 400, [field], corrupt];
}

/** A value that is no JSON. */
function noJson(field: string, kind: string, ...texts: readonly string[]): MemberCorruption {
  return [
    `${field} is ${kind}`,
    400,
    [],
    (members) => oneWritten(...texts).map((value) => replaced(members, field, value)),
  ];
}

function numbers(digits: fc.Arbitrary<bigint>, tens: fc.Arbitrary<number>): fc.Arbitrary<Value> {
  return fc.tuple(digits, tens, anyNumeralStyle).map((drawn) => ({ written: numeralOf(...drawn) }));
}

const fractions = numbers(
  anyId.filter((digits) => digits % 10n !== 0n),
  fc.integer({ min: -400, max: -1 }),
);

const beyondInt64 = numbers(
  fc.oneof(
    fc.constantFrom(MAX + 1n, MIN - 1n, 2n ** 64n, 10n ** 19n, -(10n ** 19n)),
    fc.bigInt({ min: MAX + 1n, max: 2n ** 70n }),
    fc.bigInt({ min: -(2n ** 70n), max: MIN - 1n }),
  ),
  fc.constant(0),
);

const farBeyondInt64 = numbers(
  anyId.filter((digits) => digits !== 0n),
  fc.integer({ min: 19, max: 400 }),
);

function textsWith(part: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.tuple(anyText, part, anyText).map((parts) => parts.join(''));
}

const MEMBER_CORRUPTIONS: readonly MemberCorruption[] = [
  ...['id', 'name'].map((field): MemberCorruption => [
    `${field} is absent`,
    422,
    [field],
    (members) => fc.constant(members.filter(([name]) => name !== field)),
  ]),
  ...['name', 'tag'].flatMap((field) => [
    wrong(field, 'null', oneWritten('null')),
    wrong(field, 'of another type', noText),
    wrong(field, 'a text with U+0000', textsWith(fc.constant('\0'))),
    wrong(field, 'a text with an unpaired surrogate', textsWith(halfOfPair)),
  ]),
  wrong('id', 'null', oneWritten('null')),
  wrong('id', 'a text, even that of a number', fc.oneof(anyId.map(String), anyText)),
  wrong('id', 'of another type', noTextOrNumber),
  wrong('id', 'a fraction', fractions),
  wrong('id', 'an integer beyond int64', beyondInt64),
  wrong('id', 'an integer far beyond int64', farBeyondInt64),
  wrong('id', 'a number beyond all bounds', oneWritten('1e400', '-1E+400', '1e999999999999999999999', '1e-400')),
  [
    'every field is wrong',
    422,
    FIELDS,
    (members) =>
      noTextOrNumber.map((value) => FIELDS.reduce((wronged, field) => replaced(wronged, field, value), members)),
  ],
  ...FIELDS.map(twice),
  noJson('id', 'a number with a plus or leading zeros', '+7', '+0', '07', '-07', '00', '00.7'),
  noJson('id', 'a number that lacks digits', '7.', '.7', '-.7', '-', '--7', '7e', '7e+', '7.e1', ''),
  noJson('id', 'a number in another notation', '0x7', '0b1', '0o7', '7n', '7_000', '7 0', '1/2', '\u0667'),
  noJson('id', 'a word in the place of a number', 'NaN', 'Infinity', '-Infinity', 'undefined'),
  noJson('x', 'a misspelt literal', 'True', 'NULL', 'nul', 'nulll', 'None', 'undefined'),
];

/** What is wrong, with which error, and how to make it so. */
type TextCorruption = readonly [what: string, error: number, corrupt: (text: string) => fc.Arbitrary<Body>];

interface Place {
  readonly start: number;
  readonly end: number;
}

/** Where the strings of a text begin and end, quotes included. */
function stringsIn(text: string): Place[] {
  const matches = text.matchAll(/"(?:[^"\\]|\\.)*"/gs);
  return Array.from(matches, ({ index, 0: { length } }) => ({ start: index, end: index + length }));
}

function oneString(text: string): fc.Arbitrary<Place> {
  return fc.constantFrom(...stringsIn(text));
}

/** One of the strings that are names. */
function oneName(text: string): fc.Arbitrary<Place> {
  return fc.constantFrom(...stringsIn(text).filter(({ end }) => /^[ \t\r\n]*:/.test(text.slice(end))));
}

/** A place between two characters that is in no string. */
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

/** The text with one of the additions at one of the places. */
function withOne(text: string, where: fc.Arbitrary<number>, additions: readonly string[]): fc.Arbitrary<string> {
  return fc.tuple(where, fc.constantFrom(...additions)).map(([place, addition]) => inserted(text, place, addition));
}

const TEXT_CORRUPTIONS: readonly TextCorruption[] = [
  ['is empty', 400, () => fc.constant('')],
  ['is nothing but white space', 400, () => anyBlank.filter((text) => text !== '')],
  ['is cut before its end', 400, (text) => fc.nat(text.lastIndexOf('}')).map((length) => text.slice(0, length))],
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
    'has a comma too many',
    400,
    (text) => {
      const braces = [text.indexOf('{'), text.lastIndexOf('}')];
      return withOne(text, fc.constantFrom(...braces.flatMap((place) => [place, place + 1])), [',']);
    },
  ],
  [
    'has a control character in a string, as it is',
    400,
    (text) =>
      oneString(text)
        .chain(({ start, end }) => fc.tuple(fc.integer({ min: start + 1, max: end - 1 }), fc.nat(0x1f)))
        .map(([place, code]) => inserted(text, place, String.fromCharCode(code))),
  ],
  [
    'has an escape that JSON does not know',
    400,
    (text) =>
      withOne(
        text,
        oneString(text).map(({ start }) => start + 1),
        ['\\a', "\\'", '\\0', '\\x41', '\\U0041', '\\u{41}', '\\u12g4', '\\u+041', '\\ ', '\\\n'],
      ),
  ],
  [
    'has a name in single quotes or in none',
    400,
    (text) =>
      fc
        .tuple(oneName(text), fc.constantFrom("'", ''))
        .map(([{ start, end }, quote]) =>
          [text.slice(0, start), text.slice(start + 1, end - 1), text.slice(end)].join(quote),
        ),
  ],
  [
    'is followed by more',
    400,
    (text) => fc.constantFrom('{}', 'null', '0', '""', '}', text).map((more) => text + more),
  ],
  ['has a byte order mark in front', 400, (text) => fc.constant(`\ufeff${text}`)],
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
    'has bytes that are no UTF-8',
    400,
    (text) => {
      const bytes = Buffer.from(text);
      // Bytes that never occur, lone and missing continuations, overlong forms, surrogates, more than U+10FFFF.
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
  ['is JSON within a JSON string', 422, (text) => fc.constant(JSON.stringify(text))],
  [
    'is JSON, but no object',
    422,
    () => fc.constantFrom('null', 'true', '0', '-0', '1e400', '""', '[]', ' [ ] ', '[{}]', '["id","name"]'),
  ],
];

function mediaTypes(...types: readonly string[]): readonly OutgoingHttpHeaders[] {
  return types.map((type) => ({ 'Content-Type': type }));
}

/** What is wrong, with which error, and the headers that make it so. */
const HEADER_CORRUPTIONS: readonly (readonly [string, number, readonly OutgoingHttpHeaders[]])[] = [
  ['under no media type', 415, [{}]],
  ['under a media type like JSON', 415, mediaTypes('text/json', 'application/merge-patch+json', 'application/jsonl')],
  [
    'under another media type',
    415,
    mediaTypes('text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'),
  ],
  ['under something that is no media type', 415, mediaTypes('', 'json', 'application', '*/*', '"application/json"')],
  ['under two media types', 415, mediaTypes('application/json, text/plain', 'text/plain;application/json')],
  [
    'in a content coding',
    415,
    ['gzip', 'br', 'x', 'identity, gzip'].map((coding) => ({
      'Content-Type': 'application/json',
      'Content-Encoding': coding,
    })),
  ],
];

describe('POST /plants, whatever comes', () => {
  let service: Service;
  let agent: Agent;

  beforeAll(async () => {
    service = await startService();
    agent = new Agent({ keepAlive: true });
  });

  afterAll(async () => {
    agent.destroy();
    await service.close();
  });

  /** First in each run, so that neither another one nor its own shrinking has taken its id. */
  async function emptyStore(): Promise<void> {
    await service.store.query('DELETE FROM plants');
  }

  function post(body: Body, headers: OutgoingHttpHeaders = { 'Content-Type': 'application/json' }): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const sent = request(
        `${service.url}/plants`,
        { agent, method: 'POST', headers: { Authorization: `Bearer ${TOKEN}`, ...headers } },
        (response) => {
          const { statusCode: status, headers } = response;
          buffer(response)
            .then((bytes) => resolve({ status, type: headers['content-type'], text: bytes.toString() }))
            .catch(reject);
        },
      );
      sent.on('error', reject);
      sent.end(body);
    });
  }

  /** The table, with its texts as the bytes that the engine has. */
  function storedBytes(): Promise<object[]> {
    const { store } = service;
    const bytes = store.engine === 'sqlite' ? ['CAST(', ' AS BLOB)'] : ['convert_to(', ", 'UTF8')"];
    return store.query(`SELECT id, ${bytes.join('name')} AS name, ${bytes.join('tag')} AS tag FROM plants`);
  }

  function bytesOf({ id, name, tag }: Plant): unknown {
    return { id, name: Buffer.from(name), tag: tag === undefined ? null : Buffer.from(tag) };
  }

  async function expectRefusal({ status, type, text }: Answer, error: number): Promise<string> {
    const { message } = JSON.parse(text) as { message: string };
    expect({ status, type, text }).toEqual({
      status: 400,
      type: 'application/json',
      text: JSON.stringify({ error, message }),
    });
    expect(message).toMatch(/^\S.*\.$/);
    expect(await service.rows()).toEqual([]);
    return message;
  }

  /** The fields that a message speaks of. */
  function fieldsIn(message: string): string[] {
    return FIELDS.filter((field) => new RegExp(`\\b${field}\\b`).test(message));
  }

  it('creates any plant, however it is written, and takes it in another writing for the same', async () => {
    await fc.assert(
      fc.asyncProperty(anyPlant, anySpelling, anySpelling, async (plant, ...spellings) => {
        await emptyStore();
        const { name, tag } = plant;
        for (const spelling of spellings) {
          const answer = await post(textOf(membersOf(plant, spelling), spelling));

          expect(answer).toEqual({ status: 200, type: 'application/json', text: JSON.stringify({ name, tag }) });
          expect(await storedBytes()).toEqual([bytesOf(plant)]);
        }
      }),
      { numRuns: VALID_RUNS },
    );
  });

  it('refuses another plant of the same id with error 409, and leaves the one that stands', async () => {
    const others = fc
      .tuple(anyValid, anyValid)
      .filter(([{ plant: one }, { plant: another }]) => one.name !== another.name || one.tag !== another.tag);
    await fc.assert(
      fc.asyncProperty(others, async ([{ plant, text }, { plant: another, spelling }]) => {
        await emptyStore();
        await post(text);

        const answer = await post(textOf(membersOf({ ...another, id: plant.id }, spelling), spelling));

        expect(answer).toMatchObject({ status: 400, text: expect.stringMatching(/^\{"error":409,/) as string });
        expect(await storedBytes()).toEqual([bytesOf(plant)]);
      }),
      { numRuns: CONFLICT_RUNS },
    );
  });

  it.each(MEMBER_CORRUPTIONS)('refuses a plant where %s with error %d', async (_what, error, named, corrupt) => {
    const texts = anyValid.chain(({ members, spelling }) =>
      corrupt(members).map((corrupted) => textOf(corrupted, spelling)),
    );
    await fc.assert(
      fc.asyncProperty(texts, async (text) => {
        await emptyStore();
        const message = await expectRefusal(await post(text), error);

        if (named.length > 0) expect(fieldsIn(message)).toEqual(named);
      }),
      { numRuns: RUNS_PER_CORRUPTION },
    );
  });

  it.each(TEXT_CORRUPTIONS)('refuses a body that %s with error %d', async (_what, error, corrupt) => {
    const bodies = anyValid.chain(({ text }) => corrupt(text));
    await fc.assert(
      fc.asyncProperty(bodies, async (body) => {
        await emptyStore();
        await expectRefusal(await post(body), error);
      }),
      { numRuns: RUNS_PER_CORRUPTION },
    );
  });

  it.each(HEADER_CORRUPTIONS)('refuses a body that comes %s with error %d', async (_what, error, headers) => {
    await fc.assert(
      fc.asyncProperty(anyValid, fc.constantFrom(...headers), async ({ text }, drawn) => {
        await emptyStore();
        await expectRefusal(await post(text, drawn), error);
      }),
      { numRuns: RUNS_PER_CORRUPTION },
    );
  });

  describe('a mebibyte of brackets', () => {
    const DEPTH = 500_000;
    const arrays = '['.repeat(DEPTH) + ']'.repeat(DEPTH);
    const objects = `${'{"":'.repeat(DEPTH / 4)}0${'}'.repeat(DEPTH / 4)}`;

    beforeEach(emptyStore);

    it.each([
      ['arrays', arrays],
      ['objects', objects],
    ])('of %s in another field is ignored', async (_what, deep) => {
      const answer = await post(`{"id":1,"x":${deep},"name":"Monstera"}`);

      expect(answer).toEqual({ status: 200, type: 'application/json', text: '{"name":"Monstera"}' });
      expect(await service.rows()).toEqual([{ id: 1n, name: 'Monstera', tag: null }]);
    });

    it.each([
      ['arrays', '['.repeat(2 * DEPTH)],
      ['objects', '{"":'.repeat(DEPTH / 2)],
    ])('of %s that never close is refused with error 400', async (_what, deep) => {
      await expectRefusal(await post(`{"id":1,"name":"Monstera","x":${deep}`), 400);
    });

    it.each(FIELDS)('as the %s is refused with error 422, which names it', async (field) => {
      const values = { id: '1', name: '"Monstera"', tag: '"indoor"', [field]: arrays };

      const answer = await post(`{"id":${values.id},"name":${values.name},"tag":${values.tag}}`);

      expect(fieldsIn(await expectRefusal(answer, 422))).toEqual([field]);
    });

    it('as the whole body is refused with error 422', async () => {
      await expectRefusal(await post(arrays), 422);
    });
  });

  it('has met no defect of the service', () => {
    expect(service.log()).toEqual([]);
  });
});
