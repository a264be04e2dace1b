import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { basename, join } from 'node:path';
import { line, put } from '../support/token-file.js';
import { TOKEN } from '../support/client.js';
import { MAIN, spawnCommand } from '../support/command.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';

const ROOT = join(import.meta.dirname, '../..');
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };

const COMMANDS = ['start', 'token', 'backup', 'restore', 'export', 'import', 'copy', 'verify', 'health', 'check'];

const directory = ServiceDirectory.ofEachTest();

/** Returns the names of the files that a part of the bundle imports, without what it imports on demand. */
function importsOf(file: string, found = new Set<string>()): Set<string> {
  if (found.has(file)) return found;
  found.add(file);
  const text = readFileSync(file, 'utf8');
  for (const [, path = ''] of text.matchAll(/^(?:import|export)\b[^'"\n]*["'](\.[^"']+)["'];?$/gm)) {
    importsOf(join(file, '..', path), found);
  }
  return found;
}

describe('plant-store', () => {
  it('prints its version', async () => {
    expect(await directory.run('--version')).toEqual({
      status: 0,
      stdout: `${version}\n`,
      stderr: '',
    });
  });

  it('is found by npx in a clone, from any of its directories', () => {
    const { stdout, status } = spawnSync('npx', ['--no', '--', 'plant-store', '--version'], {
      cwd: join(ROOT, 'docs'),
      encoding: 'utf8',
    });

    expect({ stdout, status }).toEqual({ stdout: `${version}\n`, status: 0 });
  });

  it('lists its commands', async () => {
    const { status, stdout } = await directory.run('--help');

    expect(status).toBe(0);
    const [, list = ''] = stdout.split('\nCommands:\n');
    expect([...list.matchAll(/^ {2}(\w+)/gm)].slice(0, -1).map(([, name]) => name)).toEqual(COMMANDS);
  });

  it.each(COMMANDS)('has a help with an example for %s', async (name) => {
    const { status, stdout, stderr } = await directory.run(name, ['--help']);

    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain(`Usage: plant-store ${name} `);
    expect(stdout).toMatch(new RegExp(`\nExamples?:\n(?:.*\n)* .*plant-store ${name}\\b`));
  });

  it.each(COMMANDS)('loads for the help of %s only what it needs', (name) => {
    const files = [...importsOf(MAIN), ...importsOf(join(MAIN, `../chunks/${name}.js`))];
    const bytes = [...new Set(files)].map((file) => statSync(file).size).reduce((sum, size) => sum + size, 0);

    expect(bytes).toBeLessThan(200_000);
  });

  it('loads the service from the parts that rolldown.config.js names', () => {
    const parts = [...importsOf(join(MAIN, '../chunks/service.js'))].map((file) => basename(file));

    expect(parts.sort()).toEqual(['program.js', 'rolldown-runtime.js', 'rules.js', 'service.js', 'shared.js']);
  });

  it.each([
    [['exprt'], "unknown command 'exprt'\n(Did you mean export?)"],
    [['backup'], "missing required argument 'file'"],
    [['copy', '--too=postgres://plants:password@localhost/plants'], "unknown option '--too'"],
    [['health', 'now'], "too many arguments for 'health'. Expected 0 arguments but got 1."],
  ])('refuses %j with status 2', async ([name = '', ...parameters], complaint) => {
    expect(await directory.run(name, parameters)).toEqual({
      status: 2,
      stdout: '',
      stderr: `plant-store: ${complaint}\n`,
    });
  });

  it('starts the service as the command start, too', async () => {
    const service = directory.launch(WITH_TOKEN, { wrapper: ['sh', '-c', 'exec "$@" start', 'sh'] });
    await service.listening();

    expect(service.lines[0]).toContain(`"message":"Plant Store ${version} on Node.js ${process.versions.node}; `);
    expect(await service.stop()).toBe(0);
  });

  it('ends quietly and with status 0 when the reader of its output has enough', async () => {
    put(directory.file('tokens'), line('ci', TOKEN));
    const child = spawn(process.execPath, [MAIN, 'token', 'list', '--file', 'tokens'], { cwd: directory.path });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    child.stdout.destroy();

    expect(await once(child, 'close')).toEqual([0, null]);
    expect(stderr).toBe('');
  });

  it('ends with status 130 when it is interrupted', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const asked = once(server, 'connection');
    const child = spawnCommand('health', directory.path, [], { MANAGEMENT_PORT: `${port}` });
    await asked;

    child.kill('SIGINT');

    expect(await once(child, 'close')).toEqual([130, null]);
    server.close();
  });
});
