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
  // test/plants.e2e-spec.ts has more.
  it.each([
    ['9999999999999999999', 9999999999999999999n],
    ['-9007199254740991.0', -9007199254740991n],
    ['7.00000000000000000000', 7n],
    ['-7.5E+3', -7500n],
    ['70e-1', 7n],
    ['0e400', 0n],
    ['9.00719925474099e15', 9007199254740990n],
    ['1e-1', undefined],
    ['10000000000000000000', undefined],
    ['9.007199254740991e15', undefined],
    ['9007199254740992.0', undefined],
    ['9.007199254740992e15', undefined],
    ['"7"', undefined],
    ['0x7', undefined],
    ['', undefined],
  ])('reads %s as %p', (text, value) => {
    expect(exactInteger(text)).toBe(value);
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
