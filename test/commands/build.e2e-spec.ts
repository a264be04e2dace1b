import { spawnSync } from 'node:child_process';
import { appendFileSync, cpSync, existsSync, readFileSync, rmSync, symlinkSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import type { Run } from '../support/command.js';
import { ServiceDirectory, type Variables } from '../support/service-directory.js';
import { ROOT } from '../support/root.js';

const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: { prestart: string } };

const BUILDING = 'Building dist/ …\n';

const SOURCE = 'src/storage/group-commit.ts';

const directory = ServiceDirectory.ofEachTest();

beforeEach(() => {
  for (const name of ['contract', 'src', 'build-if-changed.js', 'rolldown.config.js', 'tsconfig.json']) {
    cpSync(join(ROOT, name), directory.file(name), { recursive: true });
  }
  symlinkSync(join(ROOT, 'node_modules'), directory.file('node_modules'));
  directory.write('nest-cli.json', '{}');
  directory.write('package-lock.json', '{}');
  // A real build takes ten seconds.
  directory.write('package.json', JSON.stringify({ type: 'module', scripts: { build: 'mkdir -p dist/chunks' } }));
});

/** Runs what npm runs before `npm start`. */
function prestart(variables: Variables = {}): Run {
  const env = { PATH: process.env.PATH, ...variables };
  return spawnSync('sh', ['-c', scripts.prestart], { cwd: directory.path, encoding: 'utf8', env });
}

function edit(name: string): void {
  appendFileSync(directory.file(name), '\n');
}

describe('npm start', () => {
  /** Changes of what a build reads, or has written. */
  const CHANGES: Readonly<Record<string, () => void>> = {
    'a source has been replaced by an older one, as by tar': () => {
      edit(SOURCE);
      utimesSync(directory.file(SOURCE), 0, 0);
    },
    'a source has been removed': () => rmSync(directory.file(SOURCE)),
    'a package has changed': () => edit('package-lock.json'),
    'nest start has replaced the bundle': () => rmSync(directory.file('dist/chunks'), { recursive: true }),
  };

  it('builds once, and again after each change', () => {
    expect(prestart()).toMatchObject({ status: 0, stdout: '', stderr: BUILDING });
    // The lock of an editor.
    symlinkSync('gardener@plants.example.4711', directory.file('src/.#main.ts'));
    expect(prestart()).toMatchObject({ status: 0, stdout: '', stderr: '' });
    for (const [what, change] of Object.entries(CHANGES)) {
      change();
      expect([what, prestart().stderr]).toEqual([what, BUILDING]);
    }
  });

  it('refuses a wrong setting with status 2 before it builds', () => {
    expect(prestart({ PORT: 'abc' })).toMatchObject({
      status: 2,
      stdout: '',
      stderr: 'plant-store: PORT must be a number from 0 to 65535, for example 8080\n',
    });
    expect(existsSync(directory.file('dist'))).toBe(false);
  });
});
