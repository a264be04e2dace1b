import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { Agent, type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AccessTokens } from '../../src/auth/access-tokens.js';
import { changeTokenFile, lineOf } from '../../src/auth/token-file.js';
import { type Service, startService, TOKEN } from '../support/service.js';
import { ServiceProcess } from '../support/service-process.js';

/** `npm test` builds it first. */
const COMMAND = join(import.meta.dirname, '../../dist/commands/token.js');

const SECOND_TOKEN = 'another-token-of-the-tests';

/** Milliseconds within which a change must be in force. */
const SOON = 1_000;

let directory: string;
let file: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
  file = join(directory, 'tokens');
});

afterEach(() => rmSync(directory, { recursive: true }));

function line(name: string, token: string, expires?: Date): string {
  return `${lineOf(name, token, expires)}\n`;
}

/** Puts a file of tokens in place at once, as editors and the command do. */
function put(text: string, mode = 0o600): void {
  writeFileSync(`${file}.new`, text);
  chmodSync(`${file}.new`, mode);
  renameSync(`${file}.new`, file);
}

/** The number in the answer: 200, or what the error says. */
async function create(url: string, token: string): Promise<number> {
  const response = await fetch(`${url}/plants`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: '{"id":1,"name":"Monstera"}',
  });
  return ((await response.json()) as { error?: number }).error ?? response.status;
}

/** Sends requests until one is answered so. @returns the milliseconds that it took */
async function until(expected: number, url: string, token: string): Promise<number> {
  const begin = performance.now();
  while ((await create(url, token)) !== expected) {
    if (performance.now() - begin > 10 * SOON) throw new Error(`It was never answered with ${expected}`);
  }
  return performance.now() - begin;
}

interface Run {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `token` in the directory of the test, with nothing of this process's environment. */
async function token(parameters: readonly string[], variables: Record<string, string> = {}): Promise<Run> {
  const child = spawn(process.execPath, [COMMAND, ...parameters], { cwd: directory, env: variables });
  const run = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (run.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (run.stderr += text));
  const [status] = (await once(child, 'close')) as [number];
  return { ...run, status };
}

describe('A file of tokens', () => {
  let tokens: AccessTokens;
  let unwatch: () => void;
  let service: Service;

  beforeEach(async () => {
    put(line('tests', TOKEN));
    tokens = await AccessTokens.open({ accessTokens: [], accessTokensFile: file, firstTokenFile: '', others: false });
    unwatch = tokens.watch();
    service = await startService({ verifier: tokens });
  });

  afterEach(async () => {
    unwatch();
    await service.close();
  });

  it.each<[string, (text: string) => void]>([
    ['is replaced by another one', put],
    ['is written in place', (text) => writeFileSync(file, text)],
    [
      'is removed, and made anew',
      (text) => {
        unlinkSync(file);
        writeFileSync(file, text, { mode: 0o600 });
      },
    ],
    [
      'is emptied, and then written line by line',
      (text) => {
        writeFileSync(file, '');
        for (const part of text.split(/(?<=\n)/)) appendFileSync(file, part);
      },
    ],
    [
      'becomes a link to another one, as mounted secrets are',
      (text) => {
        mkdirSync(join(directory, '..data'));
        writeFileSync(join(directory, '..data/tokens'), text, { mode: 0o600 });
        symlinkSync('..data/tokens', `${file}.new`);
        renameSync(`${file}.new`, file);
      },
    ],
  ])('counts within a second when it %s, on connections that stand as well', async (_, change) => {
    expect(await create(service.url, TOKEN)).toBe(200);
    change(`${line('tests', SECOND_TOKEN)}${line('others', 'a-third-token')}`);

    expect(await until(200, service.url, SECOND_TOKEN)).toBeLessThan(SOON);
    expect(await create(service.url, TOKEN)).toBe(401);
    expect(await create(service.url, 'a-third-token')).toBe(200);
  });

  it('that is a link counts when the link leads elsewhere', async () => {
    for (const [name, text] of [
      ['v1', line('tests', TOKEN)],
      ['v2', line('tests', SECOND_TOKEN)],
    ] as const) {
      mkdirSync(join(directory, name));
      writeFileSync(join(directory, name, 'tokens'), text, { mode: 0o600 });
    }
    symlinkSync('v1', join(directory, '..data'));
    unlinkSync(file);
    symlinkSync('..data/tokens', file);
    expect(await create(service.url, TOKEN)).toBe(200);

    symlinkSync('v2', join(directory, '..new'));
    renameSync(join(directory, '..new'), join(directory, '..data'));

    expect(await until(200, service.url, SECOND_TOKEN)).toBeLessThan(SOON);
    expect(await create(service.url, TOKEN)).toBe(401);
  });

  it('may lose its last token, and then nobody passes', async () => {
    put('# nobody at the moment\n');

    expect(await until(401, service.url, TOKEN)).toBeLessThan(SOON);
    expect(service.log()).toEqual([]);
  });

  it('has a token refused at the instant at which it expires', async () => {
    const expires = new Date(Math.ceil(Date.now() / 1_000) * 1_000 + 1_000);
    put(line('tests', TOKEN) + line('trainee', SECOND_TOKEN, expires));
    await tokens.reload();
    expect(await create(service.url, SECOND_TOKEN)).toBe(200);

    let last = Date.now();
    for (let sent = last; (await create(service.url, SECOND_TOKEN)) === 200; sent = Date.now()) last = sent;

    expect(last).toBeLessThan(expires.getTime());
    expect(Date.now()).toBeGreaterThanOrEqual(expires.getTime());
    expect(await create(service.url, TOKEN)).toBe(200);
  });

  it.each<[string, RegExp, () => void]>([
    ['has a line that is wrong', /line 2, is no token/, () => put(`${line('tests', SECOND_TOKEN)}ci secret\n`)],
    ['is empty', /is empty/, () => put('')],
    ['is gone', /cannot be read/, () => unlinkSync(file)],
    [
      'is a directory',
      /no regular file/,
      () => {
        unlinkSync(file);
        mkdirSync(file);
      },
    ],
    ['may be read by others', /chmod 600/, () => put(line('tests', SECOND_TOKEN), 0o640)],
    ['may be written by others', /chmod 600/, () => put(line('tests', SECOND_TOKEN), 0o602)],
  ])('leaves all as it was where it %s, says so once, and counts again when it is mended', async (_, reason, spoil) => {
    spoil();
    await tokens.reload();
    await tokens.reload();

    expect(await create(service.url, TOKEN)).toBe(200);
    expect(await create(service.url, SECOND_TOKEN)).toBe(401);
    expect(service.log()).toEqual([expect.stringMatching(reason)]);
    expect(service.log()[0]).toMatch(/; until then the tokens read before stay valid\n/);
    expect(service.log()[0]).not.toContain('secret');

    rmSync(file, { recursive: true, force: true });
    put(line('tests', SECOND_TOKEN));
    expect(await until(200, service.url, SECOND_TOKEN)).toBeLessThan(SOON);
    expect(await create(service.url, TOKEN)).toBe(401);
  });

  it('is refused where it belongs to another user, whom only root can give it to', async () => {
    put(line('tests', SECOND_TOKEN));
    if (process.getuid?.() !== 0) {
      expect(() => chownSync(file, 12_345, 12_345)).toThrow('EPERM');
      return;
    }
    chownSync(file, 12_345, 12_345);
    await tokens.reload();

    expect(await create(service.url, TOKEN)).toBe(200);
    expect(service.log()).toEqual([expect.stringMatching(/belongs to another user/)]);
  });

  it('changes a hundred times under 64 clients, and none whose token stays is ever refused', async () => {
    const answers = new Map<string, number>();
    let stopped = false;
    const clients = Array.from({ length: 64 }, async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      // Only those who have a valid token learn that there is no such path.
      const options = { agent, headers: { Authorization: `Bearer ${TOKEN}` } };
      while (!stopped) {
        const outgoing = request(`${service.url}/elsewhere`, options).end();
        const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
        const [chunk] = (await once(response, 'data')) as [Buffer];
        const number = chunk.toString().slice(0, 12);
        answers.set(number, (answers.get(number) ?? 0) + 1);
      }
      agent.destroy();
    });

    const wrong: string[] = [];
    for (let change = 1; change <= 100; change += 1) {
      // In place is the harder way: there are moments without any token in the file.
      const text = `${line('passing', `token-${change}`)}${line('tests', TOKEN)}`;
      if (change % 2 === 0) put(text);
      else writeFileSync(file, text);
      await tokens.reload();
      // Each look waits behind the 64.
      if (change % 10 > 0) continue;
      if ((await create(service.url, `token-${change}`)) !== 200) wrong.push(`${change} is not valid`);
      if ((await create(service.url, `token-${change - 1}`)) !== 401) wrong.push(`${change - 1} is still valid`);
    }
    stopped = true;
    await Promise.all(clients);

    expect(wrong).toEqual([]);
    expect([...answers.keys()]).toEqual(['{"error":404']);
    expect(answers.get('{"error":404')).toBeGreaterThan(1_000);
  });
});

describe('The command token', () => {
  it('makes a token that is shown once, and keeps its digest in a file that its owner alone may read', async () => {
    const { status, stdout, stderr } = await token(['create', '--name', 'ci', '--expires', '2999-01-01T00:00:00Z']);

    expect(status).toBe(0);
    expect(stdout).toMatch(/^[\w-]{43}\n$/);
    expect(stderr).toMatch(/^ci expires at 2999-01-01T00:00:00.000Z\. [^\n]+\n$/);
    const text = readFileSync(join(directory, 'data/tokens'), 'utf8');
    const digest = createHash('sha256').update(stdout.trim()).digest('hex');
    expect(text).toBe(`${text.split('\n')[0] ?? ''}\nci sha256:${digest} 2999-01-01T00:00:00Z\n`);
    expect(statSync(join(directory, 'data/tokens')).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(directory, 'data'))).toEqual(['tokens']);
  });

  it('lists names, expiries and whether those are over', async () => {
    put(`# ours\n${line('ci', TOKEN)}${line('leaver', SECOND_TOKEN, new Date('2020-01-01T00:00:00Z'))}`);

    expect(await token(['list', '--file', 'tokens'])).toEqual({
      status: 0,
      stdout: 'ci\tnever\tvalid\nleaver\t2020-01-01T00:00:00.000Z\texpired\n',
      stderr: '',
    });
  });

  it('revokes what has a name, and leaves every other line as it was', async () => {
    const rest = `# ci was here\r\n\n  ${line('nursery', SECOND_TOKEN)}`;
    put(`${line('ci', TOKEN)}${rest}${line('ci', 'a-third-token')}`);

    expect(await token(['revoke', 'ci', '--file', 'tokens'])).toEqual({
      status: 0,
      stdout: '',
      stderr: 'ci is revoked.\n',
    });
    expect(readFileSync(file, 'utf8')).toBe(rest);
  });

  it('revokes the last token, too, and leaves a file that can be read', async () => {
    put(line('ci', TOKEN));
    await token(['revoke', 'ci', '--file', 'tokens']);

    expect(await token(['list', '--file', 'tokens'])).toEqual({ status: 0, stdout: '', stderr: '' });
  });

  it('takes 90 days where it is told nothing, and other days, and never', async () => {
    const begin = Date.now();
    await token(['create', '--name', 'default']);
    await token(['create', '--name', 'year', '--expires', '365d']);
    await token(['create', '--name', 'always', '--expires', 'never']);
    const [first, year, always] = (await token(['list'])).stdout.split('\n').map((row) => row.split('\t')[1] ?? '');

    const days = (expiry = ''): number => (new Date(expiry).getTime() - begin) / 86_400_000;
    expect(days(first)).toBeCloseTo(90, 2);
    expect(days(year)).toBeCloseTo(365, 2);
    expect(always).toBe('never');
  });

  it('loses no token where several are made at the same time, with the first start of a service among them', async () => {
    const service = new ServiceProcess(directory, {});
    try {
      const names = Array.from({ length: 5 }, (_, index) => `ci-${index}`);
      const runs = await Promise.all(names.map((name) => token(['create', '--name', name])));
      const url = await service.listening();

      expect(runs.map(({ status }) => status)).toEqual(names.map(() => 0));
      const listed = (await token(['list'])).stdout.split('\n').map((row) => row.split('\t')[0] ?? '');
      expect(listed.filter((name) => name.startsWith('ci-')).sort()).toEqual(names);
      for (const { stdout } of runs) expect(await until(200, url, stdout.trim())).toBeLessThan(SOON);
      const shown = /Bearer ([\w-]+)/.exec(service.stderr)?.[1];
      expect(listed.includes('first-start')).toBe(shown !== undefined);
      if (shown !== undefined) expect(await create(url, shown)).toBe(200);
    } finally {
      await service.stop();
    }
  });

  it('works together with a running service that made its own first token', async () => {
    // Who asks again and again whether a token is valid yet would be slowed down.
    const service = new ServiceProcess(directory, { REFUSED_TOKENS_PER_MINUTE: 'off' });
    try {
      const url = await service.listening();
      const made = (await token(['create', '--name', 'ci'])).stdout.trim();
      expect(await until(200, url, made)).toBeLessThan(SOON);

      await token(['revoke', 'ci']);
      expect(await until(401, url, made)).toBeLessThan(SOON);

      writeFileSync(join(directory, 'data/tokens'), line('ci', made) + line('a', 'a') + line('b', 'b'));
      service.signal('SIGHUP');
      await service.printed(/(tokens in it now: 3)/);
      expect(await create(url, made)).toBe(200);
      expect(await service.stop()).toBe(0);
      expect(service.stdout).not.toContain(made);
    } finally {
      await service.stop('SIGKILL');
    }
  });

  it.each<[string, readonly string[], Record<string, string>, string]>([
    ['ACCESS_TOKENS_FILE', [], { ACCESS_TOKENS_FILE: 'named' }, 'named'],
    ['--file, whatever is configured', ['--file', 'named'], { ACCESS_TOKENS_FILE: 'other', PORT: 'bad' }, 'named'],
    ['the place beside the data', [], { DATABASE_URL: 'sqlite:green/house.db' }, 'green/tokens'],
    ['what a link leads to', ['--file', 'link'], {}, 'tokens'],
  ])('changes the file of %s', async (_, parameters, variables, expected) => {
    put('# empty\n');
    symlinkSync('tokens', join(directory, 'link'));

    expect((await token(['create', '--name', 'ci', ...parameters], variables)).status).toBe(0);
    expect(readFileSync(join(directory, expected), 'utf8')).toMatch(/^ci sha256:/m);
  });

  it('reads .env as the service does', async () => {
    writeFileSync(join(directory, '.env'), 'ACCESS_TOKENS_FILE=named\n');
    await token(['create', '--name', 'ci']);

    expect(existsSync(join(directory, 'named'))).toBe(true);
  });

  it.each<[string, readonly string[], number, RegExp, Record<string, string>?]>([
    ['nothing to do', [], 2, /^Usage: token /],
    ['no such command', ['make'], 2, /unknown command 'make'/],
    ['no name', ['create'], 2, /required option '--name <name>'/],
    ['a name of two words', ['create', '--name', 'two words'], 2, /It must be one word/],
    ['an expiry that is over', ['create', '--name', 'ci', '--expires', '2020-01-01T00:00:00Z'], 2, /It must be days/],
    ['ACCESS_TOKENS without a file', ['list'], 2, /^token: with ACCESS_TOKENS alone/, { ACCESS_TOKENS: 'x' }],
    ['a name that is taken', ['create', '--name', 'ci', '--file', 'tokens'], 1, /^token: ci has a token already/],
    [
      'nothing to revoke',
      ['revoke', 'nobody', '--file', 'tokens'],
      1,
      /^token: tokens has no token of the name nobody/,
    ],
    ['no file', ['list', '--file', 'nowhere'], 1, /^token: nowhere cannot be read/],
    ['no place for a file', ['create', '--name', 'x', '--file', 'tokens/x'], 1, /^token: tokens\/x cannot be written/],
  ])('ends with %s: %j has status %i', async (_, parameters, status, complaint, variables = {}) => {
    put(line('ci', TOKEN));

    const run = await token(parameters, variables);

    expect(run).toMatchObject({ status, stdout: '' });
    expect(run.stderr).toMatch(complaint);
    expect(readFileSync(file, 'utf8')).toBe(line('ci', TOKEN));
    expect(readdirSync(directory)).toEqual(['tokens']);
  });

  it.each([
    ['a line that is wrong', 'ci a-secret\n', 0o600, /line 1, is no token/],
    ['a mode that lets others read', line('ci', TOKEN), 0o644, /chmod 600/],
  ])('leaves a file alone with %s', async (_, text, mode, complaint) => {
    put(text, mode);

    for (const parameters of [['create', '--name', 'x'], ['list']]) {
      const { status, stderr } = await token([...parameters, '--file', 'tokens']);
      expect(status).toBe(1);
      expect(stderr).toMatch(complaint);
      expect(stderr).not.toContain('a-secret');
    }
    expect(readFileSync(file, 'utf8')).toBe(text);
  });

  it.each([[['--help']], [['create', '--help']]])('explains itself: %j', async (parameters) => {
    const { status, stdout, stderr } = await token(parameters);

    expect(status).toBe(0);
    expect(stdout).toMatch(/^Usage: token /);
    expect(stderr).toBe('');
  });
});

describe('A change of a file of tokens', () => {
  it('is refused where the file is a link that leads to none', async () => {
    symlinkSync(join(directory, 'nowhere'), file);

    await expect(changeTokenFile(file, () => '# none\n')).rejects.toThrow(/is a link that leads to no file/);
    expect(readdirSync(directory)).toEqual(['tokens']);
  });

  it('that fails leaves the file and no draft, and others may go on', async () => {
    put(line('tests', TOKEN));
    await expect(
      changeTokenFile(file, () => {
        throw new Error('a defect');
      }),
    ).rejects.toThrow('a defect');
    await changeTokenFile(file, (text) => text + line('ci', SECOND_TOKEN));

    expect(readFileSync(file, 'utf8')).toBe(line('tests', TOKEN) + line('ci', SECOND_TOKEN));
    expect(readdirSync(directory)).toEqual(['tokens']);
  });
});
