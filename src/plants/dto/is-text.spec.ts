import fc from 'fast-check';
import { isText, TEXT_PATTERN } from './is-text.js';

/** Any UTF-16 code units, so that surrogates are often unpaired. */
const units = fc.oneof(
  fc.constantFrom('\0', '\n', 'a', '\ud83c', '\udf31', '\ud7ff', '\udbff', '\udc00', '\udfff', '\ue000'),
  fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
);

describe('TEXT_PATTERN', () => {
  it.each(['', 'u'])('matches exactly the texts that the service accepts, with the flags "%s"', (flags) => {
    const pattern = new RegExp(TEXT_PATTERN, flags);

    fc.assert(
      fc.property(fc.string({ unit: units }), (text) => pattern.test(text) === isText(text)),
      { numRuns: 10_000 },
    );
  });

  it.each(['', 'u'])('matches a text of 1 MiB, with the flags "%s"', (flags) => {
    const pattern = new RegExp(TEXT_PATTERN, flags);

    expect(pattern.test('🌱'.repeat(262_144))).toBe(true);
    expect(pattern.test(`${'🌱'.repeat(262_144)}\0`)).toBe(false);
  });
});
