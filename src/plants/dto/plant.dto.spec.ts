import { validateSync } from 'class-validator';
import fc from 'fast-check';
import { PlantDto } from './plant.dto.js';

/** Any UTF-16 code units, so that surrogates are often unpaired. */
const units = fc.oneof(
  fc.constantFrom('\0', '\n', 'a', '\ud83c', '\udf31', '\ud7ff', '\udbff', '\udc00', '\udfff', '\ue000'),
  fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
);

function isName(text: string): boolean {
  return validateSync(Object.assign(new PlantDto(), { name: text })).length === 0;
}

describe('A name', () => {
  it('is any text without U+0000 and unpaired surrogates', () => {
    // UTF-8 has no unpaired surrogates.
    const isInUtf8 = (text: string): boolean => Buffer.from(text).toString() === text;

    fc.assert(
      fc.property(fc.string({ unit: units }), (text) => isName(text) === (isInUtf8(text) && !text.includes('\0'))),
      { numRuns: 5_000 },
    );
  });
});
