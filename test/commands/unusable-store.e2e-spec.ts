import { ServiceDirectory, type Variables } from '../support/service-directory.js';
import { openRepository } from '../../src/storage/open-repository.js';

describe('The message about a store that cannot be opened', () => {
  let directory: ServiceDirectory;

  beforeEach(() => {
    directory = new ServiceDirectory();
  });

  afterEach(() => directory.remove());

  it.each<[variable: string, command: string, parameters: readonly string[], variables: Variables]>([
    ['DATABASE_URL', 'export', [], { DATABASE_URL: 'sqlite:.' }],
    ['DATABASE_URL', 'copy', ['--to', 'sqlite:other.db'], { DATABASE_URL: 'sqlite:.' }],
    ['--to', 'copy', ['--to', 'sqlite:.'], {}],
    ['OTHER_DATABASE_URL', 'copy', [], { OTHER_DATABASE_URL: 'sqlite:.' }],
    ['--against', 'verify', ['--against', 'sqlite:.'], {}],
    ['OTHER_DATABASE_URL', 'verify', [], { OTHER_DATABASE_URL: 'postgres://localhost/plants?sslrootcert=none.pem' }],
  ])('names %s for plant-store %s %j', async (variable, command, parameters, variables) => {
    const repository = await openRepository(`sqlite:${directory.file('data/plants.db')}`);
    await repository.close();

    expect(await directory.run(command, parameters, variables)).toEqual({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(new RegExp(`^plant-store: ${variable}: the database \\S+ [^\\n]+\\n$`)) as unknown,
    });
  });
});
