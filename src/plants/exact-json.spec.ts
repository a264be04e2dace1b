import fc from 'fast-check';
import { RUNS } from '../../test/support/runs.js';
import { exactInteger, topLevelMembers } from './exact-json.js';

const MEBIBYTE = 1_048_576;

/** JSON numbers, many of them with zeros that an exponent removes or leaps over. */
const NUMBER = /^(-?)(0|[1-9][0-9]{0,9}0{0,12})(?:\.(0{0,12}[0-9]{1,9}))?(?:[eE]([+-]?[0-9]{1,2}))?$/;

/** The oracle: the number as a ratio of integers, at any cost. */
function byRatio(text: string): bigint | undefined {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = NUMBER.exec(text) ?? [];
  const places = Number(exponent) - fraction.length;
  const numerator = BigInt(whole + fraction) * 10n ** BigInt(Math.max(places, 0));
  const denominator = 10n ** BigInt(Math.max(-places, 0));
  const value = numerator / denominator;
  if (numerator % denominator !== 0n || value >= 10n ** 19n) return undefined;
  return sign === '-' ? -value : value;
}

describe('exactInteger', () => {
  it.each([
    { text: '0.0e999999999999999999999', value: 0n },
    { text: '9999999999999999999', value: 9999999999999999999n },
    { text: '1e999999999999999999999', value: undefined },
    { text: '"7"', value: undefined },
    { text: '0x7', value: undefined },
  ])('reads $text as $value', ({ text, value }) => {
    expect(exactInteger(text)).toBe(value);
  });

  it('reads every JSON number as rational arithmetic does', () => {
    fc.assert(
      fc.property(fc.stringMatching(NUMBER), (text) => {
        expect(exactInteger(text)).toBe(byRatio(text));
      }),
      { numRuns: 2_000 * RUNS },
    );
  });

  // If the cost were quadratic, or grew with the value, these tests would not end.
  it.each([
    { what: 'zeros that an exponent takes away', text: `7${'0'.repeat(MEBIBYTE)}e-${MEBIBYTE}`, value: 7n },
    { what: 'zeros that an exponent leaps over', text: `0.${'0'.repeat(MEBIBYTE)}7e${MEBIBYTE + 1}`, value: 7n },
    { what: 'nines of a negative exponent', text: `1e-${'9'.repeat(MEBIBYTE)}`, value: undefined },
    { what: 'digits that are no number in the end', text: `${'7'.repeat(MEBIBYTE)}.7e7x`, value: undefined },
  ])('takes no more time than it must for a mebibyte of $what', ({ text, value }) => {
    expect(exactInteger(text)).toBe(value);
  });
});

describe('topLevelMembers', () => {
  it.each(['', '1', '"a"', '[1]', '{', '{"a', '{"a":', '{"a":1', '{"a":"b', '{"a":[1}', '{"a":1,'])(
    'throws at %s, which is no JSON object',
    (text) => {
      expect(() => Array.from(topLevelMembers(text))).toThrow(/^The text /);
    },
  );

  it('ends with every text', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('{', '}', '[', ']', '"', ':', ',', '\\', ' ', '1') }), (text) => {
        try {
          Array.from(topLevelMembers(text));
        } catch (error) {
          expect((error as Error).name).toMatch(/^(?:Syntax)?Error$/);
        }
      }),
      { numRuns: 2_000 * RUNS },
    );
  });
});
