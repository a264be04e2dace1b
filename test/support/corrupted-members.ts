import fc from 'fast-check';
import {
  anyId,
  anyNumeralStyle,
  anyText,
  anyValue,
  FIELDS,
  loneSurrogate,
  MAX,
  type Members,
  MIN,
  notText,
  notTextOrNumber,
  numeralOf,
  oneWritten,
  type Value,
} from './plant-json.js';

/** A name, the error number, the fields that the message names, and a function that corrupts the members. */
type MemberCorruption = readonly [
  what: string,
  error: number,
  named: readonly string[],
  corrupt: (members: Members) => fc.Arbitrary<Members>,
];

/** Sets a field, in its place or at the end. */
function replaced(members: Members, field: string, value: Value): Members {
  if (!members.some(([name]) => name === field)) return [...members, [field, value]];
  return members.map((member) => (member[0] === field ? [field, value] : member));
}

/** Returns the corruption that sets an invalid value. */
function wrong(field: string, kind: string, values: fc.Arbitrary<Value>): MemberCorruption {
  return [`${field} is ${kind}`, 422, [field], (members) => values.map((value) => replaced(members, field, value))];
}

/** Returns the corruption that repeats a field, with the same value or another. */
function twice(field: string): MemberCorruption {
  const corrupt = (members: Members): fc.Arbitrary<Members> =>
    fc.tuple(anyValue, anyValue, fc.boolean(), fc.nat(members.length)).map(([one, another, same, place]) => {
      const once = members.some(([name]) => name === field) ? members : replaced(members, field, one);
      const given = once.find(([name]) => name === field)?.[1] ?? one;
      return [...once.slice(0, place), [field, same ? given : another], ...once.slice(place)];
    });
  return [`${field} is given twice`, 400, [field], corrupt];
}

/** Returns the corruption that sets a value that is not JSON. */
function notJson(field: string, kind: string, ...texts: readonly string[]): MemberCorruption {
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

export const MEMBER_CORRUPTIONS: readonly MemberCorruption[] = [
  ...['id', 'name'].map((field): MemberCorruption => [
    `${field} is absent`,
    422,
    [field],
    (members) => fc.constant(members.filter(([name]) => name !== field)),
  ]),
  ...['name', 'tag'].flatMap((field) => [
    wrong(field, 'null', oneWritten('null')),
    wrong(field, 'of another type', notText),
    wrong(field, 'a text with U+0000', textsWith(fc.constant('\0'))),
    wrong(field, 'a text with an unpaired surrogate', textsWith(loneSurrogate)),
  ]),
  wrong('id', 'null', oneWritten('null')),
  wrong('id', 'a string, even of digits', fc.oneof(anyId.map(String), anyText)),
  wrong('id', 'of another type', notTextOrNumber),
  wrong('id', 'a fraction', fractions),
  wrong('id', 'an integer beyond int64', beyondInt64),
  wrong('id', 'an integer far beyond int64', farBeyondInt64),
  wrong('id', 'a number beyond any range', oneWritten('1e400', '-1E+400', '1e999999999999999999999', '1e-400')),
  [
    'every field is wrong',
    422,
    FIELDS,
    (members) =>
      notTextOrNumber.map((value) => FIELDS.reduce((wronged, field) => replaced(wronged, field, value), members)),
  ],
  ...FIELDS.map(twice),
  notJson('id', 'a number with a plus or leading zeros', '+7', '+0', '07', '-07', '00', '00.7'),
  notJson('id', 'a number that lacks digits', '7.', '.7', '-.7', '-', '--7', '7e', '7e+', '7.e1', ''),
  notJson('id', 'a number in another notation', '0x7', '0b1', '0o7', '7n', '7_000', '7 0', '1/2', '\u0667'),
  notJson('id', 'a word instead of a number', 'NaN', 'Infinity', '-Infinity', 'undefined'),
  notJson('x', 'a misspelt literal', 'True', 'NULL', 'nul', 'nulll', 'None', 'undefined'),
];
