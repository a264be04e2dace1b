import { spawnSync } from 'node:child_process';
import { appendFileSync, cpSync, existsSync, readFileSync, rmSync, symlinkSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import type { Run } from '../support/command.js';
import { ServiceDirectory, type Variables } from '../support/service-directory.js';

const ROOT = join(import.meta.dirname, '../..');

/** A build that leaves a line in a file for each time that it runs, because a real one takes ten seconds. */
const SCRIPTS = {
  prestart: 'node build-if-changed.js --check-configuration',
  build: `node -e "fs.mkdirSync('dist/chunks', { recursive: true }); fs.appendFileSync('built', 'x')"`,
};

const directory = ServiceDirectory.ofEachTest();

beforeEach(() => {
  for (const name of ['contract', 'src', 'build-if-changed.js', 'rolldown.config.js', 'tsconfig.json']) {
    cpSync(join(ROOT, name), directory.file(name), { recursive: true });
  }
  symlinkSync(join(ROOT, 'node_modules'), directory.file('node_modules'));
  directory.write('nest-cli.json', '{}');
  directory.write('package-lock.json', '{}');
  directory.write('package.json', JSON.stringify({ type: 'module', scripts: SCRIPTS }));
});

function prestart(variables: Variables = {}): Run {
  const [command = '', ...parameters] = SCRIPTS.prestart.split(' ');
  return spawnSync(command, parameters, {
    cwd: directory.path,
    encoding: 'utf8',
    env: { PATH: process.env.PATH, ...variables },
  });
}

function builds(): number {
  return existsSync(directory.file('built')) ? readFileSync(directory.file('built'), 'utf8').length : 0;
}

describe('npm start', () => {
  it('is preceded by the script that this spec runs', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: typeof SCRIPTS };

    expect(scripts.prestart).toBe(SCRIPTS.prestart);
  });

  it('builds once, and prints a line', () => {
    expect(prestart()).toMatchObject({ status: 0, stdout: '', stderr: 'Building dist/ …\n' });
    expect(prestart()).toMatchObject({ status: 0, stdout: '', stderr: '' });
    expect(builds()).toBe(1);
  });

  it.each<[string, () => void]>([
    ['a source has changed', () => edit('src/storage/group-commit.ts')],
    ['a source has been replaced by an older one', () => replaceByOlder('src/storage/group-commit.ts')],
    ['a source has been removed', () => rmSync(directory.file('src/storage/group-commit.ts'))],
    ['the contract has changed', () => edit('contract/openapi.yaml')],
    ['a package has changed', () => edit('package-lock.json')],
    ['nest start has replaced the bundle', () => rmSync(directory.file('dist/chunks'), { recursive: true })],
  ])('builds again when %s', (_what, change) => {
    prestart();
    change();
    prestart();

    expect(builds()).toBe(2);
  });

  it('ignores a link that leads nowhere, such as the lock of an editor', () => {
    prestart();
    symlinkSync('gardener@plants.example.4711', directory.file('src/.#main.ts'));

    expect(prestart()).toMatchObject({ status: 0, stderr: '' });
  });

  it('refuses a wrong setting with status 2 before it builds', () => {
    expect(prestart({ PORT: 'abc' })).toMatchObject({
      status: 2,
      stdout: '',
      stderr: 'plant-store: PORT must be a number from 0 to 65535, for example 8080\n',
    });
    expect(builds()).toBe(0);
  });

  it('shows the output of a build that fails, and ends with its status', () => {
    const build = `node -e "console.log('src/main.ts: an error'); process.exit(3)"`;
    directory.write('package.json', JSON.stringify({ type: 'module', scripts: { ...SCRIPTS, build } }));

    const { status, stderr } = prestart();

    expect(status).toBe(3);
    expect(stderr).toContain('src/main.ts: an error');
  });
});

function edit(name: string): void {
  appendFileSync(directory.file(name), '\n');
}

/** Replaces a file as tar does, which keeps the times of an archive. */
function replaceByOlder(name: string): void {
  edit(name);
  utimesSync(directory.file(name), 0, 0);
}
