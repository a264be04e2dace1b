import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { MAIN } from '../support/command.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';
import { ROOT } from '../support/root.js';

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };

const COMMANDS = ['start', 'token', 'backup', 'restore', 'export', 'import', 'verify', 'check'];

const directory = ServiceDirectory.ofEachTest();

/** Returns the packages that a built file imports, also through other files and later. */
function packagesOf(path: string, seen = new Set<string>()): string[] {
  if (seen.has(path)) return [];
  seen.add(path);
  const names = [...readFileSync(path, 'utf8').matchAll(/(?:from |import |import\()'([^']+)'/g)].map(
    ([, name]) => `${name}`,
  );
  return names.flatMap((name) => (name.startsWith('.') ? packagesOf(join(dirname(path), name), seen) : [name]));
}

describe('The program', () => {
  it.each(['token', 'backup', 'restore', 'export', 'verify'])('loads neither Nest nor Fastify for %s', (name) => {
    const packages = packagesOf(join(dirname(MAIN), `commands/${name}.js`));

    expect(packages.filter((found) => /^(?:@nestjs\/|fastify$)/.test(found))).toEqual([]);
  });

  it('loads nothing of the service for import, which needs the rules of POST /plants', () => {
    expect(packagesOf(join(dirname(MAIN), 'commands/import.js'))).not.toContain('@nestjs/core');
  });

  it('loads nothing of the service for --version and --help', () => {
    const [beginning = ''] = readFileSync(MAIN, 'utf8').split('const COMMANDS');
    const imports = [...beginning.matchAll(/from '(\.[^']+)'/g)].map(([, name = '']) => join(dirname(MAIN), name));

    expect(imports).not.toEqual([]);
    for (const path of imports) expect(packagesOf(path)).not.toContain('@nestjs/core');
  });

  it('loads the service for start', () => {
    expect(packagesOf(join(dirname(MAIN), 'commands/start.js'))).toContain('@nestjs/core');
  });
});

describe('plant-store', () => {
  it('is found by npx in a clone, from any of its directories, and prints its version', () => {
    const { stdout, status } = spawnSync('npx', ['--no', '--', 'plant-store', '--version'], {
      cwd: join(ROOT, 'docs'),
      encoding: 'utf8',
    });

    expect({ stdout, status }).toEqual({ stdout: `${version}\n`, status: 0 });
  });

  it.each(COMMANDS)('has a help with an example for %s', async (name) => {
    const { status, stdout, stderr } = await directory.run(name, ['--help']);

    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain(`Usage: plant-store ${name} `);
    expect(stdout).toMatch(new RegExp(`\nExamples?:\n(?:.*\n)* .*plant-store ${name}\\b`));
  });

  it('starts the service as the command start, too', async () => {
    const { service } = await directory.start(WITH_TOKEN, { wrapper: ['sh', '-c', 'exec "$@" start', 'sh'] });

    expect(service.lines[0]).toContain(`"message":"Plant Store ${version} on Node.js ${process.versions.node}; `);
  });
});
