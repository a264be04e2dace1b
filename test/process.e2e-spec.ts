import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { parseConfiguration } from '../src/config/configuration.js';
import { TOKEN } from './service.js';
import { ServiceProcess } from './service-process.js';

type Variables = Readonly<Record<string, string>>;

const SECOND_TOKEN = 'another-token-of-the-tests';
/** Enough for a case that is not about the environment. */
const WITH_TOKEN = { ACCESS_TOKENS: TOKEN };

const MONSTERA = { id: 1, name: 'Monstera' };
const CREATED = { status: 200, body: { name: 'Monstera' } };

const CURL = /^(curl -i [^]+?)\n\n/m;

let directory: string;
let processes: ServiceProcess[];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
  processes = [];
});

afterEach(async () => {
  // Those that have ended already do not mind.
  await Promise.all(processes.map((service) => service.stop('SIGKILL')));
  rmSync(directory, { recursive: true });
});

function launch(
  variables: Variables = {},
  workingDirectory = directory,
  wrapper: readonly string[] = [],
): ServiceProcess {
  const service = new ServiceProcess(workingDirectory, variables, wrapper);
  processes.push(service);
  return service;
}

/** A service that listens. */
interface Started {
  readonly service: ServiceProcess;
  /** {base_url}. */
  readonly url: string;
}

async function start(variables: Variables = WITH_TOKEN, workingDirectory?: string): Promise<Started> {
  const service = launch(variables, workingDirectory);
  return { service, url: await service.listening() };
}

/** A first start with nothing that names tokens: what it tells on stderr, whatever it logs. */
async function firstStart(variables?: Variables): Promise<Started & { readonly token: string }> {
  const service = launch(variables);
  const curl = await service.printed(CURL);
  const [, url = '', token = ''] = /^curl -i (\S+)\/plants[^]+Bearer ([\w-]+)'/.exec(curl) ?? [];
  return { service, token, url };
}

/** A start that must fail: what it leaves on stderr, and its exit status. */
async function failedStart(variables?: Variables): Promise<{ status: number | null; complaint: string }> {
  const service = launch(variables);
  const status = await service.ended;
  expect(service.stdout).toBe('');
  return { status, complaint: service.stderr };
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

async function post(url: string, body: string, token = TOKEN): Promise<Answer> {
  const response = await fetch(`${url}/plants`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body,
  });
  return { status: response.status, body: await response.json() };
}

function create(url: string, plant: object = MONSTERA, token = TOKEN): Promise<Answer> {
  return post(url, JSON.stringify(plant), token);
}

function refusal(error: number): object {
  return { status: 400, body: { error, message: expect.any(String) as unknown } };
}

/** What is in the store, read past the service. */
function names(file = join(directory, 'data/plants.db')): unknown[] {
  const database = new Database(file);
  try {
    return database.prepare('SELECT name FROM plants ORDER BY id').pluck().all();
  } finally {
    database.close();
  }
}

function write(name: string, text: string, mode = 0o600): string {
  const file = join(directory, name);
  writeFileSync(file, text);
  // The umask has no say in this one.
  chmodSync(file, mode);
  return file;
}

/** The names of the variables that the configuration reads. */
function variableNames(): string[] {
  const read = new Set<string>();
  parseConfiguration(new Proxy({}, { get: (_, name) => void read.add(String(name)) }));
  return [...read];
}

function digest(token: string): string {
  return `sha256:${createHash('sha256').update(token).digest('hex')}`;
}

/** Takes a free port for itself. */
async function occupyPort(): Promise<{ port: number; free: () => void }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, free: () => server.close() };
}

describe('The first start with nothing configured', () => {
  it('prints a command to paste into a shell, which creates a plant', async () => {
    const { service, url } = await start({});
    const pasted = await service.printed(CURL);

    // The shell takes the command apart as it will for the reader, and hands the words back.
    const shell = spawn('sh', ['-c', `curl() { printf '%s\\0' "$@"; }\n${pasted}`]);
    let words = '';
    shell.stdout.setEncoding('utf8').on('data', (text: string) => (words += text));
    await once(shell, 'close');
    const [include, target = '', ...options] = words.split('\0').slice(0, -1);
    const [authorization = '', contentType = ''] = options.filter((_, index) => options[index - 1] === '-H');
    const response = await fetch(target, {
      method: 'POST',
      headers: [authorization, contentType].map((header): [string, string] => {
        const [name = '', value = ''] = header.split(': ');
        return [name, value];
      }),
      body: options[options.indexOf('-d') + 1] ?? null,
    });

    expect(include).toBe('-i');
    expect(target).toBe(`${url}/plants`);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ name: 'Monstera', tag: 'indoor' });
    expect(names()).toEqual(['Monstera']);
  });

  it('prints the command that the README shows', async () => {
    const { service, token, url } = await firstStart();
    const readme = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8');

    const shown = (await service.printed(CURL)).replace(url, 'http://127.0.0.1:3000').replace(token, '<ACCESS_TOKEN>');

    expect(readme).toContain(`\n${shown}\n`);
  });

  it('keeps a digest of the token, in a file that its owner alone may read', async () => {
    const { token } = await firstStart();
    const file = join(directory, 'data/tokens');

    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, 'utf8')).toBe(`first-start ${digest(token)}\n`);
  });

  it('leaves a token that later starts take, and never print again', async () => {
    const first = await firstStart();
    await first.service.stop();
    const file = readFileSync(join(directory, 'data/tokens'));

    const second = await start({});

    expect(await create(second.url, MONSTERA, first.token)).toEqual(CREATED);
    await second.service.stop();
    expect(second.service.stderr).toBe('');
    expect(readFileSync(join(directory, 'data/tokens'))).toEqual(file);
  });

  it('makes a new token once the file is gone', async () => {
    const first = await firstStart();
    await first.service.stop();
    rmSync(join(directory, 'data/tokens'));

    const second = await firstStart();

    expect(second.token).not.toBe(first.token);
    expect(await create(second.url, MONSTERA, first.token)).toEqual(refusal(401));
    expect(await create(second.url, MONSTERA, second.token)).toEqual(CREATED);
  });

  it('leaves no token behind where it fails, since nobody has seen it', async () => {
    const taken = await occupyPort();
    const { status } = await failedStart({ PORT: `${taken.port}` });
    taken.free();

    expect(status).toBe(1);
    expect(existsSync(join(directory, 'data/tokens'))).toBe(false);
    const { token, url } = await firstStart();
    expect(await create(url, MONSTERA, token)).toEqual(CREATED);
  });

  it('keeps the token beside the data, wherever that is', async () => {
    const { token } = await firstStart({ DATABASE_URL: `sqlite:${join(directory, 'elsewhere/p.db')}` });

    expect(readFileSync(join(directory, 'elsewhere/tokens'), 'utf8')).toContain(digest(token));
    for (const name of ['', 'p.db', 'tokens']) {
      expect(statSync(join(directory, 'elsewhere', name)).mode & 0o077).toBe(0);
    }
    expect(existsSync(join(directory, 'data'))).toBe(false);
  });
});

describe('The log on stdout', () => {
  const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

  it('is one JSON object a line, without any token', async () => {
    const { service, token, url } = await firstStart({ LOG_LEVEL: 'trace' });
    expect(await create(url, MONSTERA, token)).toEqual(CREATED);
    expect(await create(url, { id: 1, name: 'Ficus' }, token)).toEqual(refusal(409));
    expect(await create(url, MONSTERA, SECOND_TOKEN)).toEqual(refusal(401));
    breakStore();
    expect(await create(url, MONSTERA, token)).toEqual(refusal(500));
    await service.stop();

    const request = { time: expect.stringMatching(ISO_TIME) as unknown, message: 'request', path: '/plants' };
    const lines = service.lines.map((line): unknown => JSON.parse(line));
    expect(lines).toMatchObject([
      { level: 'info', time: expect.stringMatching(ISO_TIME) as unknown, message: `Listening: POST ${url}/plants` },
      { ...request, level: 'info', status: 200, principal: 'first-start' },
      { ...request, level: 'info', status: 400, error: 409, principal: 'first-start' },
      { level: 'warn', message: 'Refused tokens: 1 unknown; the last one from 127.0.0.1' },
      { ...request, level: 'info', status: 400, error: 401 },
      { level: 'error', message: expect.stringContaining('no such table') as unknown },
      { ...request, level: 'error', status: 400, error: 500, principal: 'first-start' },
    ]);
    expect(service.stdout).not.toContain(token);
    expect(service.stdout).not.toContain(SECOND_TOKEN);
  });

  it.each([
    ['fatal', []],
    ['error', ['error', 'error']],
    ['warn', ['error', 'error']],
    ['info', ['info', 'error', 'error']],
    ['debug', ['info', 'error', 'error']],
    ['trace', ['info', 'error', 'error']],
  ])('has, with LOG_LEVEL=%s, what is that grave: %j', async (level, expected) => {
    const { service, token, url } = await firstStart({ LOG_LEVEL: level });
    breakStore();
    expect(await create(url, MONSTERA, token)).toEqual(refusal(500));
    await service.stop();

    expect([...service.stdout.matchAll(/^\{"level":"(\w+)"/gm)].map(([, logged]) => logged)).toEqual(expected);
  });

  /** What is a defect as far as the service can tell: it is logged, and answered with 500. */
  function breakStore(): void {
    const database = new Database(join(directory, 'data/plants.db'));
    database.exec('DROP TABLE plants');
    database.close();
  }
});

describe('The environment', () => {
  it('is completed by .env in the working directory', async () => {
    write('.env', `# for the tests\nACCESS_TOKENS="${TOKEN}"\nBASE_PATH=/from-the-file\n`);

    const { url } = await start({});

    expect(new URL(url).pathname).toBe('/from-the-file');
    expect(await create(url)).toEqual(CREATED);
  });

  it('wins over .env', async () => {
    write('.env', `ACCESS_TOKENS=${SECOND_TOKEN}\nBASE_PATH=/from-the-file\n`);

    const { url } = await start({ ...WITH_TOKEN, BASE_PATH: '/from-the-environment' });

    expect(new URL(url).pathname).toBe('/from-the-environment');
    expect(await create(url)).toEqual(CREATED);
    expect(await create(url, MONSTERA, SECOND_TOKEN)).toEqual(refusal(401));
  });

  it('may have empty variables, which count as absent', async () => {
    const empty = Object.fromEntries(variableNames().map((name) => [name, '']));

    const { service, token, url } = await firstStart({ ...empty, PORT: '0', MANAGEMENT_PORT: 'off' });

    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(await create(url, MONSTERA, token)).toEqual(CREATED);
    expect(service.lines).toHaveLength(1);
    expect(names()).toEqual(['Monstera']);
    // Nobody has this address (RFC 5737 §3), so that the default port is named without being taken.
    expect((await failedStart({ HOST: '192.0.2.1', PORT: '' })).complaint).toContain('192.0.2.1:3000');
  });
});

/** For each variable, values that it cannot have. */
const BAD_VALUES: Readonly<Record<string, readonly string[]>> = {
  HOST: ['two words', 'http://localhost'],
  PORT: ['http', '65536', '-1'],
  BASE_PATH: ['v1', '/v1/../v2', '/v1?x=y'],
  DATABASE_URL: [
    'plants.db',
    'sqlite:',
    'mysql://user:secret@localhost/plants',
    'postgres://user:secret@localhost/plants?sslmode=prefer',
    'postgres://user:secret@host:port/plants',
  ],
  DATABASE_START_TIMEOUT: ['soon', '61m'],
  DATABASE_POOL_SIZE: ['0', '101', 'many'],
  ACCESS_TOKENS: ['not one secret', 'secret-one,,secret-two', 'geheimnis-ä'],
  ACCESS_TOKENS_FILE: ['\n'],
  JWT_ISSUER: ['login.example.com', 'http://login.example.com', 'https://user:secret@login.example.com'],
  JWT_AUDIENCE: ['two words'],
  JWT_JWKS_URL: ['/jwks', 'http://login.example.com/jwks', 'file:///jwks'],
  JWT_TYPE: ['jwt', 'id_token'],
  REQUIRED_SCOPE: ['plants write', '"', 'é'],
  REFUSED_TOKENS_PER_MINUTE: ['0', 'none', '-1'],
  BODY_LIMIT: ['0', '257mb', 'much'],
  MAX_CONNECTIONS: ['0', '1000001', 'many'],
  REQUEST_TIMEOUT: ['0s', '30', '61m', 'soon'],
  KEEP_ALIVE_TIMEOUT: ['0ms', '-1s'],
  STORE_TIMEOUT: ['5 s', '1h'],
  SHUTDOWN_TIMEOUT: ['10S', '1.5s'],
  LOG_LEVEL: ['verbose', 'INFO'],
  TLS_CERT_FILE: ['\n'],
  TLS_KEY_FILE: ['\n'],
  TRUST_PROXY: ['1', '10.0.0.0/33', 'proxy.example', '10.0.0.1,,10.0.0.2'],
  CORS_ORIGINS: ['*', 'null', 'plants.example', 'https://plants.example/', 'https://plants.example/docs'],
  MANAGEMENT_HOST: ['two words', 'http://localhost'],
  MANAGEMENT_PORT: ['http', '65536', 'OFF'],
};

describe('A variable with a bad value', () => {
  it.each(Object.entries(BAD_VALUES))(
    'ends the start with status 2 and what would be right, and never shows the value: %s',
    async (name, values) => {
      const failures = await Promise.all(values.map((value) => failedStart({ ...WITH_TOKEN, [name]: value })));

      // One complaint for all values: they have no part in it.
      const [complaint, ...others] = new Set(failures.map((failure) => failure.complaint));
      expect(complaint).toMatch(new RegExp(`^plant-store: ${name} must be [^\n]+, for example [^\n]+\n$`));
      expect(others).toEqual([]);
      expect(failures.map(({ status }) => status)).toEqual(values.map(() => 2));
    },
  );

  it('is refused in .env as well', async () => {
    write('.env', 'LOG_LEVEL=loud\n');

    expect((await failedStart()).complaint).toMatch(/^plant-store: LOG_LEVEL must be /);
  });

  it('is known to these tests for each variable that there is', () => {
    expect(Object.keys(BAD_VALUES).sort()).toEqual(variableNames().sort());
  });
});

describe('A good value takes effect', () => {
  it('of HOST, a name or an address', async () => {
    expect(await create((await start({ ...WITH_TOKEN, HOST: 'localhost' })).url)).toEqual(CREATED);
    // Nobody has this address (RFC 5737 §3), and so it cannot be listened on.
    const elsewhere = await failedStart({ ...WITH_TOKEN, HOST: '192.0.2.1' });
    expect(elsewhere).toEqual({ status: 1, complaint: expect.stringContaining('192.0.2.1') as unknown });
  });

  it('of PORT, 0 being any free one', async () => {
    const first = await start();
    const { port } = new URL(first.url);
    const second = await start({ ...WITH_TOKEN, DATABASE_URL: 'sqlite::memory:' });

    expect(new URL(second.url).port).not.toBe(port);
    const third = await failedStart({ ...WITH_TOKEN, DATABASE_URL: 'sqlite::memory:', PORT: port });
    expect(third).toEqual({ status: 1, complaint: expect.stringContaining(port) as unknown });
  });

  it.each([
    ['/v1', '/v1'],
    ['/v1/', '/v1'],
    ['/garden/v1.0', '/garden/v1.0'],
    ['/', ''],
  ])('of BASE_PATH, %s', async (basePath, path) => {
    const { origin } = new URL((await start({ ...WITH_TOKEN, BASE_PATH: basePath })).url);

    expect(await create(`${origin}${path}`)).toEqual(CREATED);
    expect(await create(`${origin}/elsewhere`)).toEqual(refusal(404));
  });

  it('of DATABASE_URL with a path in the working directory', async () => {
    const { url } = await start({ ...WITH_TOKEN, DATABASE_URL: 'sqlite:green/house.db' });

    await create(url);

    expect(names(join(directory, 'green/house.db'))).toEqual(['Monstera']);
  });

  it('of DATABASE_URL with an absolute path, from any working directory', async () => {
    const variables = { DATABASE_URL: `sqlite:${join(directory, 'shared/plants.db')}` };
    const { service, token, url } = await firstStart(variables);
    await create(url, MONSTERA, token);
    await service.stop();
    const elsewhere = join(directory, 'elsewhere');
    mkdirSync(elsewhere);

    const { url: secondUrl } = await start(variables, elsewhere);

    expect(await create(secondUrl, { id: 1, name: 'Ficus' }, token)).toEqual(refusal(409));
  });

  it('of DATABASE_URL, sqlite::memory:, which leaves nothing', async () => {
    const variables = { ...WITH_TOKEN, DATABASE_URL: 'sqlite::memory:' };
    const first = await start(variables);
    expect(await create(first.url)).toEqual(CREATED);
    await first.service.stop();

    const second = await start(variables);

    expect(await create(second.url, { ...MONSTERA, tag: 'indoor' })).toMatchObject({ status: 200 });
    expect(readdirSync(directory)).toEqual([]);
  });

  it('of ACCESS_TOKENS, each of them and no other', async () => {
    const { url } = await start({ ACCESS_TOKENS: `${TOKEN}, ${SECOND_TOKEN}` });

    expect(await create(url, MONSTERA, TOKEN)).toEqual(CREATED);
    expect(await create(url, MONSTERA, SECOND_TOKEN)).toEqual(CREATED);
    expect(await create(url, MONSTERA, `${TOKEN},${SECOND_TOKEN}`)).toEqual(refusal(401));
    expect(existsSync(join(directory, 'data/tokens'))).toBe(false);
  });

  it.each([
    ['16b', 16],
    ['17', 17],
    ['1KB', 1024],
    ['0.5mb', 524_288],
  ])('of BODY_LIMIT, %s', async (limit, bytes) => {
    const { url } = await start({ ...WITH_TOKEN, BODY_LIMIT: limit });

    // Blanks are no JSON, as long as they are read at all.
    expect(await post(url, ' '.repeat(bytes))).toEqual(refusal(400));
    expect(await post(url, ' '.repeat(bytes + 1))).toEqual(refusal(413));
  });
});

describe('ACCESS_TOKENS_FILE', () => {
  it('names a file of tokens, with comments, blank lines and expiries', async () => {
    const [today, expired] = ['a-token-with-a-future', 'a-token-with-a-past'];
    const file = write(
      'tokens',
      [
        '# who may create plants',
        '',
        `gardener ${digest(TOKEN)}`,
        `  nursery\t${digest(SECOND_TOKEN).replace(/[a-f]/g, (letter) => letter.toUpperCase())}\r`,
        `trainee ${digest(today)} 9999-12-31T23:59:59+01:00`,
        `  # ${digest('a-token-in-a-comment')}`,
        `leaver ${digest(expired)} 2020-01-01T00:00:00Z`,
      ].join('\n'),
    );

    const { url } = await start({ ACCESS_TOKENS_FILE: file });

    for (const token of [TOKEN, SECOND_TOKEN, today]) expect(await create(url, MONSTERA, token)).toEqual(CREATED);
    for (const token of [expired, 'a-token-in-a-comment', digest(TOKEN).slice(7)]) {
      expect(await create(url, MONSTERA, token)).toEqual(refusal(401));
    }
    expect(existsSync(join(directory, 'data/tokens'))).toBe(false);
  });

  it('adds to ACCESS_TOKENS', async () => {
    write('more-tokens', `gardener ${digest(SECOND_TOKEN)}\n`);

    const { url } = await start({ ...WITH_TOKEN, ACCESS_TOKENS_FILE: 'more-tokens' });

    expect(await create(url, MONSTERA, TOKEN)).toEqual(CREATED);
    expect(await create(url, MONSTERA, SECOND_TOKEN)).toEqual(CREATED);
  });

  const LINE = /^plant-store: ACCESS_TOKENS_FILE: tokens, line 2, [^\n]+ must be [^\n]+ such as [^\n]+\n$/;

  it.each([
    ['a token in clear text', 'gardener a-secret'],
    ['half a digest', `a-secret ${digest(TOKEN).slice(0, 39)}`],
    ['an expiry without a time zone', `a-secret ${digest(TOKEN)} 2030-01-01T00:00:00`],
  ])('ends the start with status 2 and the number of a line that is wrong: %s', async (_, line) => {
    write('tokens', `nursery ${digest(SECOND_TOKEN)}\n${line}\n`);

    const { status, complaint } = await failedStart({ ACCESS_TOKENS_FILE: 'tokens' });

    expect(complaint).toMatch(LINE);
    expect(complaint).not.toContain('a-secret');
    expect(status).toBe(2);
  });

  it.each([
    ['0644', 0o644],
    ['0620', 0o620],
  ])('ends the start with status 2 and the remedy where its mode is %s', async (_, mode) => {
    write('tokens', `gardener ${digest(TOKEN)}\n`, mode);

    expect(await failedStart({ ACCESS_TOKENS_FILE: 'tokens' })).toEqual({
      status: 2,
      complaint:
        'plant-store: ACCESS_TOKENS_FILE: tokens may be read or written by others than its owner: chmod 600 tokens\n',
    });
  });

  it('ends the start with status 2 where there is no such file', async () => {
    const { status, complaint } = await failedStart({ ACCESS_TOKENS_FILE: 'tokens' });

    expect(complaint).toMatch(/^plant-store: ACCESS_TOKENS_FILE: tokens cannot be read[^\n]*\n$/);
    expect(status).toBe(2);
  });
});

describe('A service that cannot start', () => {
  async function newerSchema(): Promise<void> {
    await (await start()).service.stop();
    const database = new Database(join(directory, 'data/plants.db'));
    database.pragma('user_version = 9999');
    database.close();
  }

  it.each<[string, RegExp, Variables, () => unknown]>([
    [
      'its data would be below a file',
      /below\/plants\.db cannot be opened/,
      { DATABASE_URL: 'sqlite:below/plants.db' },
      () => write('below', ''),
    ],
    [
      'its database is a directory',
      /directory cannot be opened/,
      { DATABASE_URL: 'sqlite:directory' },
      () => mkdirSync(join(directory, 'directory')),
    ],
    [
      'its database is none',
      /plants is no SQLite database/,
      { DATABASE_URL: 'sqlite:plants' },
      () => write('plants', 'Monstera, indoor\n'.repeat(99)),
    ],
    ['its database is newer', /data\/plants\.db has a schema that this version does not know/, {}, newerSchema],
  ])('ends with status 1 and one line where %s', async (_, complaint, variables, prepare) => {
    await prepare();

    const failure = await failedStart({ ...WITH_TOKEN, ...variables });

    expect(failure.complaint).toMatch(complaint);
    expect(failure.complaint).toMatch(/^plant-store: [^\n]+\n$/);
    expect(failure.status).toBe(1);
  });

  it.each(['PORT', 'MANAGEMENT_PORT'])('ends with status 1 and one line where its %s is taken', async (name) => {
    const taken = await occupyPort();

    const { status, complaint } = await failedStart({ ...WITH_TOKEN, [name]: `${taken.port}` });
    taken.free();

    expect(complaint).toMatch(new RegExp(`^plant-store: [^\n]*${name}: [^\n]*127\\.0\\.0\\.1:${taken.port}[^\n]*\n$`));
    expect(status).toBe(1);
  });

  it('ends with status 1 and one line where its first token cannot be written', async () => {
    mkdirSync(join(directory, 'data/tokens.d'), { recursive: true });
    symlinkSync('tokens.d/nowhere/tokens', join(directory, 'data/tokens'));

    expect(await failedStart()).toEqual({ status: 1, complaint: expect.stringMatching(/tokens/) as unknown });
  });

  it('ends with status 2 and one line where it is given arguments', async () => {
    const service = launch(WITH_TOKEN, directory, ['sh', '-c', 'exec "$@" --port 8080', 'sh']);

    expect(await service.ended).toBe(2);
    expect(service.stderr).toBe(
      'plant-store: the service takes no arguments: it is configured by environment variables\n',
    );
  });

  it('leaves the database as it was', async () => {
    const text = 'Monstera, indoor\n'.repeat(99);
    const file = write('plants', text);

    expect(await failedStart({ DATABASE_URL: 'sqlite:plants' })).toMatchObject({ status: 1 });

    expect(readFileSync(file, 'utf8')).toBe(text);
    expect(readdirSync(directory)).toEqual(['plants']);
  });
});

describe.each(['SIGTERM', 'SIGINT'] as const)('%s', (signal) => {
  it('ends an idle service with status 0', async () => {
    const { service } = await start();

    expect(await service.stop(signal)).toBe(0);
    expect(service.stderr).toBe('');
  });

  it('ends a service with status 0 that clients are connected to', async () => {
    const { service, url } = await start();
    // fetch keeps its connection for the next request.
    expect(await create(url)).toEqual(CREATED);

    expect(await service.stop(signal)).toBe(0);
  });

  it('lets a request in flight be answered, its plant stored, before it ends the service with status 0', async () => {
    const { service, url } = await start();
    const idle = await open(url);
    idle.write('POST /elsewhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n');
    await once(idle, 'data');
    const client = await open(url);
    const body = JSON.stringify(MONSTERA);
    client.write(
      `POST /plants HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\nConnection: close\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`,
    );
    // With "100 Continue" the service has accepted the request.
    await once(client, 'data');

    service.signal(signal);
    // It is shutting down when it has closed the connection that nothing happens on.
    await once(idle, 'close');
    let answer = '';
    client.setEncoding('utf8').on('data', (text: string) => (answer += text));
    client.write(body);
    await once(client, 'close');

    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(answer).toMatch(/\r\n\r\n\{"name":"Monstera"\}$/);
    expect(await service.ended).toBe(0);
    expect(names()).toEqual(['Monstera']);
  });

  async function open(url: string): Promise<Socket> {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    return socket;
  }
});

describe('SIGKILL', () => {
  it('takes away no plant that was answered with 200', async () => {
    const first = await start();
    expect(await create(first.url)).toEqual(CREATED);
    expect(await first.service.stop('SIGKILL')).toBeNull();

    const second = await start();

    expect(names()).toEqual(['Monstera']);
    expect(await create(second.url)).toEqual(CREATED);
    expect(await create(second.url, { id: 1, name: 'Ficus' })).toEqual(refusal(409));
    expect(names()).toEqual(['Monstera']);
  });
});
