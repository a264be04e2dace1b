import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { DATABASE_DEFAULTS, openSnapshot } from '../../src/storage/engines.js';
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
  const snapshot = await openSnapshot(url, DATABASE_DEFAULTS);
  const plants: StoredPlant[] = [];
  for await (const plant of snapshot?.plants() ?? []) plants.push(plant);
  expect(await snapshot?.find(plants.map(({ id }) => id))).toEqual(plants);
  await snapshot?.close();
  return plants.map((plant) => ({ ...plant, id: Number(plant.id) }));
}

describe('Every member of a NewPlant', () => {
  const service = sharedService();

  beforeEach(async () => {
    await service.store.query('DELETE FROM plants');
    expect(await create(service.url, COMPLETE)).toMatchObject({ status: 200 });
  });

  it('is stored, and answered if it is one of a Plant', async () => {
    const { body } = await create(service.url, COMPLETE);

    expect(body).toEqual(Object.fromEntries(OF_PLANT.map((name) => [name, COMPLETE[name]])));
    expect(await read(service.store.url)).toEqual([COMPLETE]);
  });

  it.each(OF_PLANT)('makes another plant if %s differs or is missing: error 409', async (name) => {
    expect(await create(service.url, { ...COMPLETE, [name]: otherValue(name) })).toEqual(refusal(409));
    const without = { ...COMPLETE, [name]: undefined };
    if (!Plant.required.includes(name)) expect(await create(service.url, without)).toEqual(refusal(409));
    expect(await read(service.store.url)).toEqual([COMPLETE]);
  });

  it.each(['ndjson', 'csv'])('is in an export as %s, and comes back with an import', async (format) => {
    const { stdout } = await directory.run('export', ['--format', format], { DATABASE_URL: service.store.url });
    const copy = { DATABASE_URL: 'sqlite:copy.db' };
    expect(await directory.run('import', ['--format', format], copy, stdout)).toMatchObject({ status: 0 });

    expect(await read(`sqlite:${directory.file('copy.db')}`)).toEqual([COMPLETE]);
  });

  it('is in the digest of verify', async () => {
    const { stdout } = await directory.run('export', [], { DATABASE_URL: service.store.url });
    const copy = { DATABASE_URL: 'sqlite:copy.db' };
    await directory.run('import', [], copy, stdout);
    const digest = await directory.run('verify', [], { DATABASE_URL: service.store.url });

    expect(await directory.run('verify', [], copy)).toEqual(digest);
    const database = directory.openDatabase('copy.db');
    for (const name of OF_PLANT) {
      database.all(`UPDATE plants SET ${name} = ?`, otherValue(name) as string);
      expect(await directory.run('verify', [], copy)).not.toEqual(digest);
      database.all(`UPDATE plants SET ${name} = ?`, COMPLETE[name] as string);
    }
  });
});
