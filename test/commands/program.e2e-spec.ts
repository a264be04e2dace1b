/** The program: what it loads, its help, and what each command does about its command line and its streams. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Command } from 'commander';
import { MAIN } from '../support/command.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';
import { ROOT } from '../support/root.js';

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };

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
  it.each(['token', 'backup', 'export', 'verify', 'import', 'start'])(
    'loads the service only for start: not for %s',
    (name) => {
      expect(packagesOf(join(dirname(MAIN), `commands/${name}.js`)).includes('@nestjs/core')).toBe(name === 'start');
    },
  );

  it('loads nothing of the service for --version and --help', () => {
    const [beginning = ''] = readFileSync(MAIN, 'utf8').split('const COMMANDS');
    const imports = [...beginning.matchAll(/from '(\.[^']+)'/g)].map(([, name = '']) => join(dirname(MAIN), name));

    expect(imports).not.toEqual([]);
    for (const path of imports) expect(packagesOf(path)).not.toContain('@nestjs/core');
  });

  it('is found by npx in a clone, from any of its directories, and prints its version', () => {
    const { stdout, status } = spawnSync('npx', ['--no', '--', 'plant-store', '--version'], {
      cwd: join(ROOT, 'docs'),
      encoding: 'utf8',
    });

    expect({ stdout, status }).toEqual({ stdout: `${version}\n`, status: 0 });
  });

  it.each(['start', 'token', 'backup', 'restore', 'export', 'import', 'verify', 'check'])(
    'has a help with an example for %s',
    async (name) => {
      const { configure } = (await import(`../../src/commands/${name}.js`)) as {
        configure: (command: Command) => void;
      };
      let help = '';
      const command = new Command(name).configureOutput({ writeOut: (text) => (help += text) });
      configure(command);

      command.outputHelp();

      expect(help).toMatch(new RegExp(`^Usage: ${name} `));
      expect(help).toMatch(new RegExp(`\nExample:\n .*plant-store ${name}\\b`));
    },
  );

  it('starts the service as the command start, too', async () => {
    const { service } = await directory.start(WITH_TOKEN, { wrapper: ['sh', '-c', 'exec "$@" start', 'sh'] });

    expect(service.lines[0]).toContain(`"message":"Plant Store ${version} on Node.js ${process.versions.node}; `);
  });
});

describe('A command that cannot do its work fails with one line, and changes nothing:', () => {
  it.each<{ command: string; url?: string; status: number; complaint: RegExp }>([
    { command: 'backup', status: 2, complaint: /missing required argument 'file'$/ },
    { command: 'backup b/', status: 1, complaint: /b\/ cannot be written: ENOENT: no such file or directory/ },
    { command: 'export b/', status: 1, complaint: /b\/ cannot be written: ENOENT: no such file or directory/ },
    { command: 'export ', status: 1, complaint: / cannot be written: ENOENT: no such file or directory/ },
    { command: 'backup b.db', url: 'postgres://localhost/plants', status: 2, complaint: /pg_dump/ },
    { command: 'backup none/b.db', status: 1, complaint: /none\/b\.db cannot be written: ENOENT: no such file or/ },
    { command: 'backup data/plants.db', status: 1, complaint: /data\/plants\.db already exists: name another file$/ },
    { command: 'restore b.db', url: 'sqlite:none.db', status: 1, complaint: /there is no file b\.db/ },
    { command: 'restore b.db', url: 'postgres://localhost/plants', status: 2, complaint: /plant-store import, or / },
    {
      command: 'export',
      url: 'sqlite::memory:',
      status: 2,
      complaint: /in memory ends with its process: name a file$/,
    },
    { command: 'export', url: 'sqlite:none.db', status: 1, complaint: /no database none\.db: DATABASE_URL/ },
    {
      command: 'export plants.xlsx',
      status: 2,
      complaint: /\.xlsx, which names no format: use \.ndjson or \.csv, or /,
    },
    { command: 'import .', status: 2, complaint: /: \. is a directory: name a file$/ },
    { command: 'import none', status: 2, complaint: /there is no file none: name one that exists$/ },
    { command: 'check now', status: 2, complaint: /too many arguments for 'check'/ },
    // No line shows a password.
    { command: 'export --too=postgres://plants:password@a/b', status: 2, complaint: /unknown option '--too=postgres:/ },
    { command: 'postgres://plants:pass/w@rd@a/b', status: 2, complaint: /unknown command 'postgres:\/\/a\/b'$/ },
    { command: 'import postgres://plants:password@a/b', status: 2, complaint: /no file postgres:\/\/a\/b:/ },
  ])('$command', async ({ command, url = '', status, complaint }) => {
    await directory.store([]);
    const before = readFileSync(directory.file('data/plants.db'));
    const [name = '', ...parameters] = command.split(' ');

    const run = await directory.run(name, parameters, { DATABASE_URL: url });

    expect(run).toEqual({ status, stdout: '', stderr: expect.stringMatching(/^plant-store: [^\n]+\n$/) as unknown });
    expect(run.stderr.trimEnd()).toMatch(complaint);
    expect(readdirSync(directory.path)).toEqual(['data']);
    expect(readFileSync(directory.file('data/plants.db')).equals(before)).toBe(true);
  });

  it('any command that cannot write its result to stdout', async () => {
    await directory.store([]);
    const wrapper = ['sh', '-c', 'exec "$@" > /dev/full', 'sh'];

    expect(await directory.run('verify', ['--json'], {}, '', { wrapper })).toEqual({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^plant-store: stdout cannot be written: ENOSPC: no space left on device[^\n]+\n$/,
      ) as unknown,
    });
  });

  it('a misspelled command, with a suggestion', async () => {
    expect(await directory.run('exprt')).toEqual({
      status: 2,
      stdout: '',
      stderr: "plant-store: unknown command 'exprt'\n(Did you mean export?)\n",
    });
  });
});
