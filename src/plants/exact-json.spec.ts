import fc from 'fast-check';
import { RUNS } from '../../test/support/runs.js';
import { exactInteger, topLevelMembers } from './exact-json.js';

const MEBIBYTE = 1_048_576;

/** JSON numbers, with as many digits as a program may write. */
const NUMBER = /^(-?)(0|[1-9][0-9]{0,18})(?:\.([0-9]{0,4}0{0,12}))?(?:[eE]([+-]?[0-9]{1,2}))?$/;

/** The oracle: the number as a ratio of integers, at any cost; undefined if it is not an integer. */
function byRatio(text: string): bigint | undefined {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = NUMBER.exec(text) ?? [];
  const places = Number(exponent) - fraction.length;
  const numerator = BigInt(whole + fraction) * 10n ** BigInt(Math.max(places, 0));
  const denominator = 10n ** BigInt(Math.max(-places, 0));
  if (numerator % denominator !== 0n) return undefined;
  return sign === '-' ? -(numerator / denominator) : numerator / denominator;
}

describe('exactInteger', () => {
  it.each([
    { text: '7', value: 7n },
    { text: '-0', value: 0n },
    { text: '9007199254740993', value: 9007199254740993n },
    { text: '9999999999999999999', value: 9999999999999999999n },
    { text: '7001.0', value: 7001n },
    { text: '-9007199254740991.0', value: -9007199254740991n },
    { text: '7.00000000000000000000', value: 7n },
    { text: '7e3', value: 7000n },
    { text: '-7.5E+3', value: -7500n },
    { text: '70e-1', value: 7n },
    { text: '0e400', value: 0n },
    { text: '9.00719925474099e15', value: 9007199254740990n },
  ])('reads $text as $value', ({ text, value }) => {
    expect(exactInteger(text)).toBe(value);
  });

  it.each([
    ['is no integer', '1.5'],
    ['is no integer', '1e-1'],
    ['underflows to 0', '1e-400'],
    ['overflows', '1e400'],
    ['has 20 digits', '10000000000000000000'],
    ['is 1 as a double', '0.99999999999999999'],
    ['is an integer as a double', '4503599627370496.1'],
    ['may have been rounded', '9007199254740992.0'],
    ['may have been rounded', '9007199254740993.0'],
    ['may have been rounded', '4.873214862074862e+18'],
    ['may have been rounded', '9.007199254740992e15'],
    ['is no number', '"7"'],
    ['is no number of JSON', '0x7'],
    ['is no number of JSON', ''],
  ])('refuses a text that %s: %s', (_reason, text) => {
    expect(exactInteger(text)).toBeUndefined();
  });

  it('reads no number as another one', () => {
    let read = 0;
    fc.assert(
      fc.property(fc.stringMatching(NUMBER), (text) => {
        const value = exactInteger(text);
        if (value === undefined) return;
        read += 1;
        expect(value).toBe(byRatio(text));
      }),
      { numRuns: 2_000 * RUNS },
    );
    expect(read).toBeGreaterThan(100);
  });

  // With quadratic cost, this test would not end.
  it.each([`7.${'0'.repeat(MEBIBYTE)}7`, `1e-${'9'.repeat(MEBIBYTE)}`, '7'.repeat(MEBIBYTE)])(
    'refuses a mebibyte of digits quickly',
    (text) => {
      expect(exactInteger(text)).toBeUndefined();
    },
  );
});

describe('topLevelMembers', () => {
  it('yields names without their escapes, and values as they are written', () => {
    const json = ' { "\\u0069d" : 7.0 , "a\\"b" : [ { "id" : 1 , "}" : "]" } ] ,\n"c":"\\\\" } ';

    expect(Array.from(topLevelMembers(json))).toEqual([
      ['id', '7.0'],
      ['a"b', '[ { "id" : 1 , "}" : "]" } ]'],
      ['c', '"\\\\"'],
    ]);
    expect(Array.from(topLevelMembers('{}'))).toEqual([]);
  });
});
