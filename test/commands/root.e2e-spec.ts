import { chownSync, mkdirSync, statSync } from 'node:fs';
import { create, CREATED } from '../support/client.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';

/** The user of a service. */
const OWNER = 12_345;

const VARIABLES = { DATABASE_URL: 'sqlite:state/data/plants.db' };

const directory = ServiceDirectory.ofEachTest();

beforeEach(() => {
  mkdirSync(directory.file('state'));
});

/** Returns the owner of each file. */
function ownersOf(...names: string[]): Record<string, number> {
  return Object.fromEntries(names.map((name) => [name, statSync(directory.file(`state/${name}`)).uid]));
}

function run(name: string, parameters: readonly string[], input?: string): Promise<{ readonly stderr: string }> {
  return directory.run(name, parameters, VARIABLES, input);
}

describe('Root, for a service that has a user of its own', () => {
  if (process.getuid?.() !== 0) {
    it('is the only one who can give files away', () => {
      expect(() => chownSync(directory.file('state'), OWNER, OWNER)).toThrow('EPERM');
    });
    return;
  }

  beforeEach(() => chownSync(directory.file('state'), OWNER, OWNER));

  it('imports into a new store, whose files belong to the owner of the directory', async () => {
    expect(await run('import', ['-'], '{"id":1,"name":"Fern"}\n')).toMatchObject({ status: 0 });

    expect(ownersOf('data', 'data/plants.db')).toEqual({ data: OWNER, 'data/plants.db': OWNER });
  });

  it('starts the service by mistake, whose files belong to the owner of the directory', async () => {
    const { url } = await directory.start({ ...WITH_TOKEN, ...VARIABLES });
    expect(await create(url)).toEqual(CREATED);

    const names = ['data', 'data/plants.db', 'data/plants.db-wal', 'data/plants.db-shm'];
    expect(ownersOf(...names)).toEqual(Object.fromEntries(names.map((name) => [name, OWNER])));
  });
});
