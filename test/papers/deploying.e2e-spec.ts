import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EXIT_STATUS } from '../../src/operator-error.js';
import { parseConfiguration, VARIABLES } from '../../src/config/load-configuration.js';
import { ERROR_TABLE } from '../../src/contract/error-table.js';
import { INVALID_HOST } from '../../src/http/fastify-adapter.js';
import { create, TOKEN } from '../support/client.js';
import { MAIN } from '../support/command.js';
import { Paper } from '../support/paper.js';
import { ROOT } from '../support/root.js';
import { ServiceDirectory } from '../support/service-directory.js';
import { line } from '../support/token-file.js';

const { shutdownTimeout } = parseConfiguration({});

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

const UNIT = read('deploy/plant-store.service');
const BACKUP_UNIT = read('deploy/plant-store-backup.service');
const DOCKERFILE = read('Dockerfile');
const GUIDE = read('docs/deploying.md');
const [COMPOSE = ''] = read('compose.yaml').split('\n  database:\n');
const PODS = ['sqlite', 'postgres'].map((name) => read(`deploy/kubernetes/${name}.yaml`));

/** Returns the value of a setting of the unit. */
function unit(name: string): string | undefined {
  return new RegExp(`^${name}=(.*)$`, 'm').exec(UNIT)?.[1];
}

function matches(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, found = '']) => found);
}

describe('The files for systemd, containers and Kubernetes', () => {
  it('set only variables that the configuration reads', () => {
    const [, image = ''] = /^ENV NODE_ENV=production (.*)$/m.exec(DOCKERFILE) ?? [];
    const names = [
      ...matches(image, /(\w+)=/g),
      ...matches(COMPOSE, /^ {6}([A-Z_]+): /gm),
      ...PODS.flatMap((pod) => matches(pod, /\bname: ([A-Z_]+)\b/g)),
      ...matches(read('deploy/environment'), /^([A-Z_]+)=/gm),
      ...matches(GUIDE, /(?:^| -e )([A-Z_]+)=/gm),
    ];

    expect(names).toEqual(expect.arrayContaining(['HOST', 'DATABASE_URL', 'DATABASE_URL_FILE', 'TLS_KEY_FILE']));
    expect(names.filter((name) => !VARIABLES.includes(name))).toEqual([]);
  });

  it('run only commands that the program has', () => {
    const help = spawnSync(process.execPath, [MAIN, '--help'], { encoding: 'utf8' }).stdout;
    const commands = matches(help, /^ {2}([a-z]+) /gm);
    const files = [GUIDE, DOCKERFILE.replaceAll('", "', ' '), BACKUP_UNIT, read('.ci/try-containers')].join('\n');
    const run = [
      // The first word after the program, where the program is a command, and not a user or a container.
      ...matches(files, /(?:^ *|`|&& |npx |-- |-store |plants |url )plant-store ([a-z]+)\b(?!-)/gm),
      ...matches(BACKUP_UNIT, /main\.js ([a-z]+)/g),
    ];

    expect(commands).toContain('backup');
    expect(run).toContain('backup');
    expect(run.filter((command) => !commands.includes(command))).toEqual([]);
  });

  it('name only files that exist', () => {
    const context = read('.dockerignore');
    const copied = matches(DOCKERFILE, /^COPY (?!--from)(.+) \S+$/gm).flatMap((files) => files.split(' '));
    const guides = `${GUIDE}\n${read('docs/data.md')}\n${read('compose.yaml')}`;
    const installed = matches(guides, /(?:^| |\.\.?\/)(deploy\/[\w./-]+)(?![\w./*-])/gm);
    const started = matches(`${UNIT}\n${read('deploy/plant-store')}`, /\/opt\/plant-store\/(\S+)/g);

    expect(started).toContain('dist/main.js');
    for (const file of [...copied, ...installed, ...started])
      expect([file, existsSync(join(ROOT, file))]).toEqual([file, true]);
    for (const file of copied) expect(file === '.' || context.includes(`\n!${file.split('/', 1)[0]}\n`)).toBe(true);
  });

  it('agree about the user of systemd, and the exit status that a restart does not fix', () => {
    expect(read('deploy/plant-store.sysusers')).toMatch(new RegExp(`^u ${unit('User')} `));
    expect(matches(BACKUP_UNIT, /^User=(.*)$/gm)).toEqual([unit('User')]);
    expect(unit('RestartPreventExitStatus')).toBe(String(EXIT_STATUS.badUsage));
  });

  it('let the service answer the requests in flight before they kill it', () => {
    const seconds = [
      unit('TimeoutStopSec'),
      ...matches(COMPOSE, /stop_grace_period: (\d+)s/g),
      ...PODS.flatMap((pod) => matches(pod, /terminationGracePeriodSeconds: (\d+)/g)),
    ];

    expect(seconds).toHaveLength(4);
    for (const time of seconds) expect(Number(time) * 1_000).toBeGreaterThan(shutdownTimeout);
  });
});

describe('The guide to deploying', () => {
  const directory = ServiceDirectory.ofEachTest();

  it('keeps the token file of a service with PostgreSQL where one without its configuration does not look', async () => {
    const [file = ''] = matches(GUIDE, /^ACCESS_TOKENS_FILE=\/var\/lib\/plant-store\/(\S+)$/gm);
    mkdirSync(directory.file('data'), { mode: 0o700 });
    directory.write(file, line('production', TOKEN));

    const { url } = await directory.start({});

    expect(await create(url)).toMatchObject({ status: 400, body: { error: 401 } });
  });

  it('has commands for Compose that make a URL file that the service accepts', () => {
    const [commands] = new Paper('docs/deploying.md').blockIn('Compose, with PostgreSQL', 'sh').split('\ndocker ');
    mkdirSync(directory.file('bin'));
    for (const program of ['openssl', 'sudo']) directory.write(`bin/${program}`, '#!/bin/sh\necho secret\n', 0o700);
    const { status } = spawnSync('sh', ['-ec', `umask 022\n${commands}`], {
      cwd: directory.path,
      env: { PATH: `${directory.file('bin')}:${process.env.PATH ?? ''}` },
    });

    expect(status).toBe(0);
    expect(parseConfiguration({ DATABASE_URL_FILE: directory.file('secrets/database-url') })).toMatchObject({
      databaseUrl: { href: 'postgres://plants:secret@database:5432/plants?sslmode=disable' },
    });
  });

  it.each(['Containers', 'Kubernetes'])('has a restore for %s that keeps the plants from before', async (section) => {
    await directory.store([{ id: 1n, name: 'Ficus' }]);
    await directory.run('backup', ['restore.db']);
    await directory.store([{ id: 2n, name: 'Aloe' }]);
    directory.write('plant-store', `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`, 0o700);
    const [script = ''] = matches(new Paper('docs/deploying.md').section(section), / sh -c '(.* restore [^']*)'/g);

    const adapted = script
      .replace(/ restore \S+$/, ` restore ${directory.file('restore.db')}`)
      .replaceAll('/data/', `${directory.file('data')}/`);
    const { status, stderr } = spawnSync('sh', ['-c', adapted], {
      cwd: directory.path,
      env: { PATH: `${directory.path}:${process.env.PATH ?? ''}` },
      encoding: 'utf8',
    });

    expect({ status, stderr }).toMatchObject({ status: 0 });
    expect(directory.names()).toEqual(['Ficus']);
    const [old = ''] = readdirSync(directory.file('data')).filter((name) => name.startsWith('old-'));
    expect(directory.names(`data/${old}/plants.db`)).toEqual(['Ficus', 'Aloe']);
  });
});

describe('The files for proxies', () => {
  /** Returns the errors that a file answers with. */
  function errorsIn(file: string): readonly (readonly [number, string])[] {
    return [...read(file).matchAll(/\{"error":(\d+),"message":"([^"]*)"\}/g)].map(
      ([, error, text = '']) => [Number(error), text] as const,
    );
  }

  it('answer with the messages of the service', () => {
    const nginx = errorsIn('deploy/nginx.conf');
    const caddy = errorsIn('deploy/Caddyfile');
    const rows = Object.entries(ERROR_TABLE).map(([error, { message }]) => [Number(error), message]);

    expect(nginx.map(([error]) => error)).toEqual([400, 405, 413, 431, 503]);
    expect(caddy.map(([error]) => error)).toEqual([413, 400, 503, 400]);
    // nginx knows no more about an error 400 than that it is about HTTP or TLS.
    expect(rows).toEqual(expect.arrayContaining(nginx.filter(([error]) => error !== 400)));
    expect([...rows, [400, INVALID_HOST]]).toEqual(expect.arrayContaining([...caddy]));
  });
});
