import { spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { MAIN } from '../support/command.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';

const ROOT = join(import.meta.dirname, '../..');
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };

const COMMANDS = ['start', 'token', 'backup', 'restore', 'export', 'import', 'copy', 'verify', 'health', 'check'];

const directory = ServiceDirectory.ofEachTest();

/** Returns the files that a part of the bundle imports, and itself, without what it imports on demand. */
function importsOf(part: string, found = new Set<string>()): Set<string> {
  const file = join(MAIN, '..', part);
  if (found.has(file)) return found;
  found.add(file);
  const text = readFileSync(file, 'utf8');
  for (const [, path = ''] of text.matchAll(/^(?:import|export)\b[^'"\n]*["'](\.[^"']+)["'];?$/gm)) {
    importsOf(join(part, '..', path), found);
  }
  return found;
}

describe('plant-store', () => {
  it('is found by npx in a clone, from any of its directories, and prints its version', () => {
    const { stdout, status } = spawnSync('npx', ['--no', '--', 'plant-store', '--version'], {
      cwd: join(ROOT, 'docs'),
      encoding: 'utf8',
    });

    expect({ stdout, status }).toEqual({ stdout: `${version}\n`, status: 0 });
  });

  it.each(COMMANDS)('has a help with an example for %s, for which it loads only what it needs', async (name) => {
    const { status, stdout, stderr } = await directory.run(name, ['--help']);

    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain(`Usage: plant-store ${name} `);
    expect(stdout).toMatch(new RegExp(`\nExamples?:\n(?:.*\n)* .*plant-store ${name}\\b`));
    const files = [...importsOf(`chunks/${name}.js`, importsOf('main.js'))];
    expect(files.reduce((bytes, file) => bytes + statSync(file).size, 0)).toBeLessThan(200_000);
  });

  it('starts the service as the command start, too', async () => {
    const { service } = await directory.start(WITH_TOKEN, { wrapper: ['sh', '-c', 'exec "$@" start', 'sh'] });

    expect(service.lines[0]).toContain(`"message":"Plant Store ${version} on Node.js ${process.versions.node}; `);
  });
});
