import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');

/** `npm test` builds it first. */
const BUILT = ['dist/storage', 'dist/files'];

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

describe('An installation without the package of its driver', () => {
  let directory: string;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
    for (const path of BUILT) cpSync(join(ROOT, path), join(directory, path), { recursive: true });
    writeFileSync(join(directory, 'package.json'), '{"type":"module"}');
    writeFileSync(join(directory, 'open.js'), OPEN);
  });

  afterEach(() => rmSync(directory, { recursive: true }));

  function open(url: string): { stdout: string; stderr: string } {
    const { stdout, stderr } = spawnSync(process.execPath, ['open.js', url], { cwd: directory, encoding: 'utf8' });
    return { stdout, stderr };
  }

  it('asks for @photostructure/sqlite on Node before 24, and does not need it on later versions', () => {
    const { stdout } = open('sqlite:plants.db');

    expect(stdout).toBe(
      HAS_SQLITE
        ? 'opened\n'
        : 'RepositoryStartError: the database plants.db needs the package @photostructure/sqlite, with its ' +
            'binary for this platform, on Node before 24: npm install @photostructure/sqlite, or use a newer Node\n',
    );
  });

  it('asks for pg', () => {
    expect(open('postgres://localhost/plants')).toEqual({
      stdout: 'RepositoryStartError: the package pg is not installed: npm install pg\n',
      stderr: '',
    });
  });
});
