import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { parse } from 'yaml';
import { TEXT } from './plant.dto.js';

const CONTRACT = parse(readFileSync(new URL('../../../contract/openapi.yaml', import.meta.url), 'utf8')) as {
  components: { schemas: { Plant: { properties: Record<'name' | 'tag', { pattern: string }> } } };
};
const { name, tag } = CONTRACT.components.schemas.Plant.properties;

/** Any UTF-16 code units, so that surrogates are often unpaired. */
const units = fc.oneof(
  fc.constantFrom('\0', '\n', 'a', '\ud83c', '\udf31', '\ud7ff', '\udbff', '\udc00', '\udfff', '\ue000'),
  fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
);

describe('The pattern of the contract', () => {
  // It must hold without the flag u, too: many tools compile it so, and a pair of surrogates is two characters then.
  it.each(['', 'u'])('matches exactly the texts that the service accepts, with the flags "%s"', (flags) => {
    const pattern = new RegExp(name.pattern, flags);

    fc.assert(
      fc.property(fc.string({ unit: units }), (text) => pattern.test(text) === TEXT.validate(text)),
      { numRuns: 10_000 },
    );
    // No quadratic cost.
    expect(pattern.test(`${'🌱'.repeat(262_144)}\0`)).toBe(false);
  });

  it('is the same for the name and the tag', () => {
    expect(tag.pattern).toBe(name.pattern);
  });
});
