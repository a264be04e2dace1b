import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { EXIT_STATUS } from '../../src/contract/operator-error.js';
import { parseConfiguration } from '../../src/config/configuration.js';
import { ERROR_TABLE } from '../../src/contract/error-table.js';
import { findViolation } from '../../src/http/message-rules.js';
import { MAIN } from '../support/command.js';
import { variableNames } from '../support/variable-names.js';

const ROOT = join(import.meta.dirname, '../..');
const { shutdownTimeout } = parseConfiguration({});

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

const UNIT = read('deploy/plant-store.service');
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
    expect(names.filter((name) => !variableNames().includes(name))).toEqual([]);
  });

  it('run only commands that the program has', () => {
    const help = spawnSync(process.execPath, [MAIN, '--help'], { encoding: 'utf8' }).stdout;
    const commands = matches(help, /^ {2}([a-z]+) /gm);
    const run = matches(
      `${GUIDE}\n${DOCKERFILE.replaceAll('", "', ' ')}`,
      /(?:^|["& ])plant-store ((?:token|check|backup|restore|health|export|import)\b)/gm,
    );

    expect(commands).toContain('health');
    expect(run).toContain('health');
    expect(run.filter((command) => !commands.includes(command))).toEqual([]);
  });

  it('name only files that exist', () => {
    const context = read('.dockerignore');
    const copied = matches(DOCKERFILE, /^COPY (?!--from)(.+) \S+$/gm).flatMap((files) => files.split(' '));
    const installed = matches(GUIDE, /(?:^| )(deploy\/[\w./-]+)/gm);
    const started = matches(`${UNIT}\n${read('deploy/plant-store')}`, /\/opt\/plant-store\/(\S+)/g);

    expect(started).toContain('dist/main.js');
    for (const file of [...copied, ...installed, ...started])
      expect([file, existsSync(join(ROOT, file))]).toEqual([file, true]);
    for (const file of copied) expect(file === '.' || context.includes(`\n!${file.split('/', 1)[0]}\n`)).toBe(true);
  });

  it('agree about the user of systemd, and the exit status that a restart does not fix', () => {
    expect(read('deploy/plant-store.sysusers')).toMatch(new RegExp(`^u ${unit('User')} `));
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
    const withoutHost = { httpVersion: '1.1', method: 'GET', url: '/', headers: {} } as IncomingMessage;

    expect(nginx.map(([error]) => error)).toEqual([400, 405, 413, 414, 431, 503]);
    expect(caddy.map(([error]) => error)).toEqual([413, 400, 503, 400]);
    // nginx knows no more about an error 400 than that it is about HTTP or TLS.
    expect(rows).toEqual(expect.arrayContaining(nginx.filter(([error]) => error !== 400)));
    expect([...rows, [400, findViolation(withoutHost)]]).toEqual(expect.arrayContaining([...caddy]));
  });
});
