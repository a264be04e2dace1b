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
    { text: '0.0e999999999999999999999', value: 0n },
    { text: '9999999999999999999', value: 9999999999999999999n },
    { text: '1e999999999999999999999', value: undefined },
    { text: '1e-999999999999999999999', value: undefined },
    { text: '"7"', value: undefined },
    { text: '0x7', value: undefined },
  ])('reads $text as $value', ({ text, value }) => {
    expect(exactInteger(text)).toBe(value);
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
    { what: 'zeros after a one', text: `1${'0'.repeat(MEBIBYTE)}`, value: undefined },
    { what: 'zeros that an exponent takes away', text: `7${'0'.repeat(MEBIBYTE)}e-${MEBIBYTE}`, value: 7n },
    { what: 'zeros that an exponent leaps over', text: `0.${'0'.repeat(MEBIBYTE)}7e${MEBIBYTE + 1}`, value: 7n },
    { what: 'nines of a negative exponent', text: `1e-${'9'.repeat(MEBIBYTE)}`, value: undefined },
    { what: 'digits that are no number in the end', text: `${'7'.repeat(MEBIBYTE)}.7e7x`, value: undefined },
  ])('takes no more time than it must for a mebibyte of $what', ({ text, value }) => {
    expect(exactInteger(text)).toBe(value);
  });
});
