import { readFileSync } from 'node:fs';
import { getMetadataStorage, validateSync } from 'class-validator';
import fc from 'fast-check';
import { parse } from 'yaml';
import { FIELD_NAMES, type FieldType, PLANT_FIELDS } from '../../contract/plant-fields.js';
import { isNewPlant, isText } from './field-rules.js';
import { NewPlantDto } from './plant.dto.js';

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
      fc.property(fc.string({ unit: units }), (text) => pattern.test(text) === isText(text)),
      { numRuns: 10_000 },
    );
    // No quadratic cost.
    expect(pattern.test(`${'🌱'.repeat(262_144)}\0`)).toBe(false);
  });

  it('is the same for the name and the tag', () => {
    expect(tag.pattern).toBe(name.pattern);
  });
});

describe('isNewPlant', () => {
  it('knows all decorators of the fields', () => {
    const rules = getMetadataStorage().getTargetValidationMetadatas(NewPlantDto, '', false, false);

    expect(rules.map((rule) => `${rule.propertyName}: ${rule.name ?? rule.type}`).sort()).toEqual(
      FIELD_NAMES.map((field) => `${field}: isPlantField`).sort(),
    );
  });

  const int64 = fc.bigInt({ min: -(2n ** 63n) - 1n, max: 2n ** 63n });
  const text = fc.string({ unit: units });
  const values = fc.oneof(
    int64,
    text,
    fc.constantFrom(undefined, null, 7, '7', true),
    fc.anything({ withBigInt: true }),
  );
  const usual: Readonly<Record<FieldType, fc.Arbitrary<unknown>>> = { int64, text };
  const plants = fc.record(
    Object.fromEntries(
      FIELD_NAMES.map((name) => [
        name,
        fc.oneof({ weight: 4, arbitrary: usual[PLANT_FIELDS[name].type] }, { weight: 1, arbitrary: values }),
      ]),
    ),
    { requiredKeys: [] },
  );

  it('accepts what the decorators accept, and refuses what they refuse', () => {
    let accepted = 0;
    fc.assert(
      fc.property(plants, (fields) => {
        const isValid = validateSync(Object.assign(new NewPlantDto(), fields)).length === 0;
        if (isValid) accepted += 1;

        expect(isNewPlant(fields)).toBe(isValid);
      }),
      { numRuns: 2_000 },
    );
    expect(accepted).toBeGreaterThan(100);
  });
});
