import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { DATABASE_DEFAULTS } from '../../src/storage/engine.js';
import { engineOf } from '../../src/storage/engines.js';
import type { StoredPlant } from '../../src/storage/plant-repository.js';
import { create, refusal } from '../support/client.js';
import { ROOT } from '../support/root.js';
import { ServiceDirectory } from '../support/service-directory.js';
import { sharedService } from '../support/service.js';

type Values = Record<string, unknown>;

interface ObjectSchema {
  readonly required: readonly string[];
  readonly properties: Readonly<Record<string, { readonly type: keyof typeof EXAMPLES }>>;
}

interface Contract {
  readonly components: {
    readonly schemas: { readonly Plant: ObjectSchema; readonly NewPlant: { readonly allOf: [object, ObjectSchema] } };
  };
}

/** A value of each type, and another one. Texts have the same length, because SQLite compares that first. */
const EXAMPLES = {
  string: ['a "text"', 'a, text.'],
  integer: [7, 8],
  number: [1.5, 2.5],
  boolean: [true, false],
} as const;

const { components } = parse(readFileSync(join(ROOT, 'contract/openapi.yaml'), 'utf8')) as Contract;
const { Plant, NewPlant } = components.schemas;
const MEMBERS = { ...NewPlant.allOf[1].properties, ...Plant.properties };
const OF_PLANT = Object.keys(Plant.properties);

/** A plant that has every member of the contract. */
const COMPLETE: Values = Object.fromEntries(
  Object.entries(MEMBERS).map(([name, { type }]) => [name, EXAMPLES[type][0]]),
);

/** Returns another value of a member. */
const otherValue = (name: string) => EXAMPLES[MEMBERS[name]?.type ?? 'string'][1];

const directory = ServiceDirectory.ofEachTest();

/** Returns the plants of a store as the members of the contract, with its id as a number. */
async function read(url: string): Promise<Values[]> {
  const plants: StoredPlant[] = [];
  for await (const plant of (await engineOf(url)).plants(DATABASE_DEFAULTS)) plants.push(plant);
  return plants.map((plant) => ({ ...plant, id: Number(plant.id) }));
}

/** Says which members of COMPLETE one plant lacks or has with another value, and where. */
function lossesIn(
  where: string,
  plants: readonly unknown[],
  names: readonly string[] = Object.keys(MEMBERS),
): string[] {
  if (plants.length !== 1) return [`${plants.length} plants in ${where}`];
  const [plant] = plants as [Values];
  return names.filter((name) => plant[name] !== COMPLETE[name]).map((name) => `${name} is lost in ${where}`);
}

describe('Every member of a NewPlant', () => {
  const service = sharedService();

  beforeEach(async () => {
    await service.store.query('DELETE FROM plants');
    expect(await create(service.url, COMPLETE)).toMatchObject({ status: 200 });
  });

  it('is stored, and answered if it is one of a Plant', async () => {
    const { body } = await create(service.url, COMPLETE);

    expect(lossesIn('the answer', [body], OF_PLANT)).toEqual([]);
    expect(Object.keys(body as object).sort()).toEqual([...OF_PLANT].sort());
    expect(lossesIn('the store', await read(service.store.url))).toEqual([]);
  });

  it.each(OF_PLANT)('makes another plant if %s differs or is missing: error 409', async (name) => {
    expect(await create(service.url, { ...COMPLETE, [name]: otherValue(name) })).toEqual(refusal(409));
    const without = { ...COMPLETE, [name]: undefined };
    if (!Plant.required.includes(name)) expect(await create(service.url, without)).toEqual(refusal(409));
    expect(lossesIn('the store', await read(service.store.url))).toEqual([]);
  });

  it.each(['ndjson', 'csv'])('comes back from an export as %s with an import', async (format) => {
    const { stdout } = await directory.run('export', ['--format', format], { DATABASE_URL: service.store.url });
    const imported = await directory.run('import', ['--format', format], { DATABASE_URL: 'sqlite:copy.db' }, stdout);
    // Without a status 0, the failure shows what the import says.
    expect(imported).toMatchObject({ status: 0, stderr: expect.stringContaining('1 created') as string });

    expect(lossesIn('an export or its import', await read(`sqlite:${directory.file('copy.db')}`))).toEqual([]);
  });

  it.each(OF_PLANT)('changes the digest of verify: %s', async (name) => {
    const verify = () => directory.run('verify', ['--json'], { DATABASE_URL: service.store.url });
    const before = await verify();
    await service.store.query(`UPDATE plants SET ${name} = ?`, otherValue(name) as string);
    const after = await verify();

    expect([before.status, after.status]).toEqual([0, 0]);
    expect(after.stdout).not.toBe(before.stdout);
  });
});
