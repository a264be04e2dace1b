import { readFileSync } from 'node:fs';
import { validateSync } from 'class-validator';
import fc from 'fast-check';
import { parse } from 'yaml';
import { PlantDto, toNewPlant, toPlant, ValidNewPlant } from './plant.dto.js';

const CONTRACT = parse(readFileSync(new URL('../../../contract/openapi.yaml', import.meta.url), 'utf8')) as {
  components: { schemas: { Plant: { properties: Record<'name' | 'tag', { pattern: string }> } } };
};
const { name, tag } = CONTRACT.components.schemas.Plant.properties;

/** Any UTF-16 code units, so that surrogates are often unpaired. */
const units = fc.oneof(
  fc.constantFrom('\0', '\n', 'a', '\ud83c', '\udf31', '\ud7ff', '\udbff', '\udc00', '\udfff', '\ue000'),
  fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
);

function isName(text: string): boolean {
  return validateSync(Object.assign(new PlantDto(), { name: text })).length === 0;
}

describe('The pattern of the contract', () => {
  // It must hold without the flag u, too: many tools compile it so, and a pair of surrogates is two characters then.
  it.each(['', 'u'])('matches exactly the texts that the service accepts, with the flags "%s"', (flags) => {
    const pattern = new RegExp(name.pattern, flags);

    fc.assert(
      fc.property(fc.string({ unit: units }), (text) => pattern.test(text) === isName(text)),
      { numRuns: 5_000 },
    );
    // No quadratic cost.
    expect(pattern.test(`${'🌱'.repeat(262_144)}\0`)).toBe(false);
  });

  it('is the same for the name and the tag', () => {
    expect(tag.pattern).toBe(name.pattern);
  });
});

describe('toNewPlant', () => {
  it('takes the fields of a NewPlant alone, and makes a plant that counts as valid', () => {
    const plant = toNewPlant({ id: 7n, name: 'Monstera', tag: undefined, colour: 'green' });

    expect(plant).toBeInstanceOf(ValidNewPlant);
    expect(JSON.stringify(toPlant(plant))).toBe('{"name":"Monstera"}');
    expect(plant).not.toHaveProperty('colour');
  });

  it.each([2n ** 63n, -(2n ** 63n) - 1n, 7, '7', null])('refuses the id %p', (id) => {
    expect(() => toNewPlant({ id, name: 'Monstera' })).toThrow(/^id must be an integer/);
  });
});
