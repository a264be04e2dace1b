import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
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

  it('asks for better-sqlite3 on Node before 24, and does not need it on later versions', () => {
    const { stdout } = open('sqlite:plants.db');

    expect(stdout).toBe(
      HAS_SQLITE
        ? 'opened\n'
        : 'RepositoryStartError: the database plants.db needs the package better-sqlite3 on Node before 24: ' +
            'npm install better-sqlite3@12, or use a newer Node\n',
    );
  });

  // npm installs no better-sqlite3 on Node 24 and later.
  if (!HAS_SQLITE) {
    it('asks to allow the install script if better-sqlite3 has no native binding', () => {
      for (const name of ['bindings', 'better-sqlite3', 'file-uri-to-path']) {
        mkdirSync(join(directory, 'node_modules', name), { recursive: true });
        cpSync(join(ROOT, 'node_modules', name), join(directory, 'node_modules', name), {
          recursive: true,
          filter: (path) => !/better-sqlite3\/(?:build|deps|src)$/.test(path),
        });
      }

      const { stdout } = open('sqlite:plants.db');

      expect(stdout).toMatch(
        /^RepositoryStartError: the database plants\.db needs the native binding of better-sqlite3, [^\n]*npm approve-scripts better-sqlite3[^\n]*\n$/,
      );
    });
  }

  it('asks for pg', () => {
    expect(open('postgres://localhost/plants')).toEqual({
      stdout: 'RepositoryStartError: the package pg is not installed: npm install pg\n',
      stderr: '',
    });
  });
});
