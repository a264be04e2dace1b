import { spawnSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { ServiceDirectory } from '../support/service-directory.js';

const ROOT = join(import.meta.dirname, '../..');

const HAS_SQLITE = Number(process.versions.node.split('.', 1)[0]) >= 24;

const OPEN = `
import { openRepository } from './dist/storage/open-repository.js';
try {
  await (await openRepository(process.argv[2])).close();
  console.log('opened');
} catch (error) {
  console.log(error.name + ': ' + error.message);
}
`;

const directory = ServiceDirectory.ofEachTest();

describe('An installation without the package of its driver', () => {
  /** Opens a database in a directory without node_modules. */
  function open(url: string): string {
    // `npm test` builds them first.
    for (const path of ['dist/storage', 'dist/files'])
      cpSync(join(ROOT, path), directory.file(path), { recursive: true });
    directory.write('package.json', '{"type":"module"}');
    directory.write('open.js', OPEN);
    return spawnSync(process.execPath, ['open.js', url], { cwd: directory.path, encoding: 'utf8' }).stdout;
  }

  it('asks for @photostructure/sqlite on Node before 24, and does not need it on later versions', () => {
    expect(open('sqlite:plants.db')).toBe(
      HAS_SQLITE
        ? 'opened\n'
        : 'RepositoryStartError: the database plants.db needs the package @photostructure/sqlite, with its ' +
            'binary for this platform, on Node before 24: npm install @photostructure/sqlite, or use a newer Node\n',
    );
  });

  it('asks for pg', () => {
    expect(open('postgres://localhost/plants')).toBe(
      'RepositoryStartError: the package pg is not installed: npm install pg\n',
    );
  });
});
