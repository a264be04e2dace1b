import fc from 'fast-check';

const MIN = -(2n ** 63n);
const MAX = 2n ** 63n - 1n;
const FIELDS = ['id', 'name', 'tag'] as const;

export interface Plant {
  readonly id: bigint;
  readonly name: string;
  readonly tag: string | undefined;
}

/** A JSON value before it is serialised; `written` is its text. */
type Value = string | { readonly written: string } | readonly Value[] | { readonly members: Members };

/** The members of an object in order; names may be repeated. */
type Members = readonly (readonly [name: string, value: Value])[];

/** The preferred form of a character in a string: itself, a short escape, \u00e9 or \u00E9. */
type Style = 'plain' | 'short' | 'lower' | 'upper';

/** The form of a number. */
interface NumeralStyle {
  /** The exponent; the decimal point moves accordingly. */
  readonly exponent: number;
  /** Number of zeros after the last decimal. */
  readonly zeros: number;
  /** Number of zeros before the digits of the exponent. */
  readonly padding: number;
  readonly e: 'e' | 'E';
  readonly plus: boolean;
  /** True for -0. */
  readonly minus: boolean;
  /** True to omit an exponent of 0. */
  readonly bare: boolean;
}

/** The choices that JSON leaves open; the styles and the blanks are used in rotation. */
interface Spelling {
  readonly numeral: NumeralStyle;
  readonly styles: readonly Style[];
  readonly blanks: readonly string[];
  /** The sort keys of the members. */
  readonly ranks: readonly number[];
  readonly extras: Members;
}

interface Valid {
  readonly plant: Plant;
  readonly members: Members;
  readonly spelling: Spelling;
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

// Arbitraries

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

export const anyPlant: fc.Arbitrary<Plant> = fc.record({
  id: anyId,
  name: anyText,
  tag: fc.option(anyText, { nil: undefined }),
});

/** Valid in JSON, but not in every store. */
const loneSurrogate = fc.constantFrom('\ud800', '\udbff', '\udc00', '\udfff', '\ude00\ud83d');

const { anyValue } = fc.letrec<{ anyValue: Value }>((tie) => ({
  anyValue: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    oneWritten('null', 'true', 'false'),
    oneWritten('0', '-0', '7', '1.50', '1e400', '-1E-7', '9007199254740993'),
    anyText,
    fc.oneof(loneSurrogate, fc.constant('\0')),
    fc.array(tie('anyValue'), { maxLength: 3 }),
    fc
      .array(fc.tuple(fc.oneof(fc.constantFrom<string>(...FIELDS, '__proto__', ''), anyText), tie('anyValue')), {
        maxLength: 4,
      })
      .map((members) => ({ members })),
  ),
}));

/** Unknown members, some of them with names that may have a meaning in JavaScript. */
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

export const anySpelling: fc.Arbitrary<Spelling> = fc.record({
  numeral: anyNumeralStyle,
  styles: fc.array(fc.constantFrom<Style>('plain', 'short', 'lower', 'upper'), { minLength: 1, maxLength: 7 }),
  blanks: fc.array(anyBlank, { minLength: 1, maxLength: 5 }),
  ranks: fc.array(fc.nat(99), { minLength: 7, maxLength: 7 }),
  extras: anyExtras,
});

export const anyValid: fc.Arbitrary<Valid> = fc.record({ plant: anyPlant, spelling: anySpelling }).map((drawn) => {
  const members = membersOf(drawn.plant, drawn.spelling);
  return { ...drawn, members, text: textOf(members, drawn.spelling) };
});

// Serialisation

/** Returns the members of a body for this plant, sorted by the ranks. */
export function membersOf({ id, name, tag }: Plant, { numeral, ranks, extras }: Spelling): Members {
  const members: Members = [
    ['id', { written: numeralOf(id, numeral) }],
    ['name', name],
    ...(tag === undefined ? [] : [['tag', tag] as const]),
    ...extras,
  ];
  return members
    .map((member, index) => ({ member, rank: ranks[index] ?? 0 }))
    .sort((one, other) => one.rank - other.rank)
    .map(({ member }) => member);
}

/** Returns the numeral of an integer. */
function numeralOf(digits: bigint, style: NumeralStyle): string {
  const sign = digits < 0n || (digits === 0n && style.minus) ? '-' : '';
  const magnitude = `${digits < 0n ? -digits : digits}`;
  const decimals = style.exponent;
  // JSON has no leading zeros, so zero stays one digit.
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

export function textOf(members: Members, { styles, blanks }: Spelling): string {
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

/** Returns the form of one character, or of a lone surrogate, in a string. */
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
