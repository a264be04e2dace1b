import fc from 'fast-check';
import { exactInteger } from './exact-json.js';

const MEBIBYTE = 1_048_576;

/** The oracle: the number as a ratio of integers, at any cost. */
function byRatio(whole: string, fraction: string, exponent: number): bigint | undefined {
  const places = exponent - fraction.length;
  const numerator = BigInt(whole + fraction) * 10n ** BigInt(Math.max(places, 0));
  const denominator = 10n ** BigInt(Math.max(-places, 0));
  if (numerator % denominator !== 0n) return undefined;
  const value = numerator / denominator;
  return value < 10n ** 19n ? value : undefined;
}

/** Digits with trailing zeros, which a negative exponent can remove. */
const wholes = fc
  .tuple(fc.bigInt({ min: 0n, max: 10n ** 20n }), fc.nat(20))
  .map(([digits, zeros]) => (digits === 0n ? '0' : `${digits}${'0'.repeat(zeros)}`));

/** The fraction, or nothing. */
const fractions = fc
  .tuple(fc.nat(20), fc.option(wholes, { nil: '' }))
  .map(([zeros, digits]) => '0'.repeat(zeros) + digits);

describe('exactInteger', () => {
  it.each([
    ['-0', 0n],
    ['0.7E+1', 7n],
    ['-0.0070e+0003', -7n],
    ['0.0e999999999999999999999', 0n],
    ['9007199254740993', 9007199254740993n],
    ['9223372036854775807', 9223372036854775807n],
    ['9999999999999999999', 9999999999999999999n],
  ])('reads %s', (text, value) => {
    expect(exactInteger(text)).toBe(value);
  });

  it.each(['1.5', '1e-1', '7.00000000000000000000000001', '1e-999999999999999999999'])(
    'knows that %s is no integer',
    (text) => {
      expect(exactInteger(text)).toBeUndefined();
    },
  );

  it.each(['10000000000000000000', '1e19', '0.1e20', '1e999999999999999999999'])(
    'knows that %s has more than 19 digits',
    (text) => {
      expect(exactInteger(text)).toBeUndefined();
    },
  );

  it.each(['null', '"7"', '[7]', '{"id":7}', ' 7', '0x7'])('knows that %j is no number', (text) => {
    expect(exactInteger(text)).toBeUndefined();
  });

  it('reads every JSON number as rational arithmetic does', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('', '-'),
        wholes,
        fractions,
        fc.option(fc.tuple(fc.constantFrom('e', 'E'), fc.integer({ min: -50, max: 50 }), fc.constantFrom('', '00'))),
        (sign, whole, fraction, power) => {
          const [e, exponent, zeros] = power ?? ['', 0, ''];
          const exponentSign = exponent < 0 ? '-' : zeros && '+';
          const suffix = power === null ? '' : `${e}${exponentSign}${zeros}${Math.abs(exponent)}`;
          const text = `${sign}${whole}${fraction && `.${fraction}`}${suffix}`;
          const magnitude = byRatio(whole, fraction, exponent);

          expect(exactInteger(text)).toBe(magnitude !== undefined && sign === '-' ? -magnitude : magnitude);
        },
      ),
      { numRuns: 10_000 },
    );
  });

  // If the cost were quadratic, or grew with the value, these tests would not end.
  it.each([
    ['zeros after a one', `1${'0'.repeat(MEBIBYTE)}`, undefined],
    ['zeros, and a decimal at their end', `7.${'0'.repeat(MEBIBYTE)}1`, undefined],
    ['zeros that an exponent takes away', `7${'0'.repeat(MEBIBYTE)}e-${MEBIBYTE}`, 7n],
    ['zeros that an exponent leaps over', `0.${'0'.repeat(MEBIBYTE)}7e${MEBIBYTE + 1}`, 7n],
    ['nines of a negative exponent', `1e-${'9'.repeat(MEBIBYTE)}`, undefined],
    [
      'digits that are no number in the end',
      `${'7'.repeat(MEBIBYTE)}.${'7'.repeat(MEBIBYTE)}e${'7'.repeat(MEBIBYTE)}x`,
      undefined,
    ],
  ])('takes no more time than it must for a mebibyte of %s', (_what, text, value) => {
    expect(exactInteger(text)).toBe(value);
  });
});
