import { createHash } from 'node:crypto';
import { chownSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { attempt, SECOND_TOKEN, TOKEN } from '../support/client.js';
import { type Run } from '../support/command.js';
import { ServiceDirectory, type Variables } from '../support/service-directory.js';
import { line, put, untilAnswer } from '../support/token-file.js';

const directory = ServiceDirectory.ofEachTest();
const file = directory.file('tokens');

function token(parameters: readonly string[], variables?: Variables): Promise<Run> {
  return directory.run('token', parameters, variables);
}

describe('plant-store token', () => {
  it('prints a new token, and stores its digest in a file with mode 0600', async () => {
    const { status, stdout, stderr } = await token(['create', '--name', 'ci', '--expires', '2999-01-01T00:00:00Z']);

    expect(status).toBe(0);
    expect(stdout).toMatch(/^[\w-]{43}\n$/);
    expect(stderr).toMatch(/^ci expires at 2999-01-01T00:00:00.000Z\. [^\n]+\n$/);
    const text = readFileSync(directory.file('data/tokens'), 'utf8');
    const digest = createHash('sha256').update(stdout.trim()).digest('hex');
    expect(text).toBe(`ci sha256:${digest} 2999-01-01T00:00:00Z\n`);
    expect(statSync(directory.file('data/tokens')).mode & 0o777).toBe(0o600);
    expect(readdirSync(directory.file('data'))).toEqual(['tokens']);
  });

  it('leaves a file with mode 0640 readable for the same users', async () => {
    put(file, line('ci', TOKEN), 0o640);

    for (const command of [
      ['create', '--name', 'two'],
      ['revoke', 'ci'],
    ]) {
      expect(await token([...command, '--file', 'tokens'])).toMatchObject({ status: 0 });
      expect(statSync(file).mode & 0o777).toBe(0o640);
    }
  });

  it('lists names, expiry times and states', async () => {
    put(file, `# ours\n${line('ci', TOKEN)}${line('leaver', SECOND_TOKEN, new Date('2020-01-01T00:00:00Z'))}`);

    expect(await token(['list', '--file', 'tokens'])).toEqual({
      status: 0,
      stdout: 'ci\tnever\tvalid\nleaver\t2020-01-01T00:00:00.000Z\texpired\n',
      stderr: '',
    });
  });

  it('adds a token behind a last line without its end, and changes no other line', async () => {
    const before = `# ours\r\n\n${line('nursery', SECOND_TOKEN)}`.trimEnd();
    put(file, before);
    expect(await token(['create', '--name', 'ci', '--expires', 'never', '--file', 'tokens'])).toMatchObject({
      status: 0,
    });

    const [first, added, ...more] = readFileSync(file, 'utf8').split(before).join('').split('\n');
    expect([first, more]).toEqual(['', ['']]);
    expect(added).toMatch(/^ci sha256:[\da-f]{64}$/);
  });

  it('revokes a token by its name, and does not change other lines', async () => {
    const rest = `# ci was here\r\n\n  ${line('ci-nursery', SECOND_TOKEN)}`;
    put(file, `${line('ci', TOKEN)}${rest}${line('ci', 'a-third-token')}`);

    expect(await token(['revoke', 'ci', '--file', 'tokens'])).toEqual({
      status: 0,
      stdout: '',
      stderr: 'ci is revoked.\n',
    });
    expect(readFileSync(file, 'utf8')).toBe(rest);

    // Without any token, too, the file is valid.
    await token(['revoke', 'ci-nursery', '--file', 'tokens']);
    expect(await token(['list', '--file', 'tokens'])).toEqual({ status: 0, stdout: '', stderr: '' });
  });

  it('sets an expiry of 90 days by default, of another number of days, or none', async () => {
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

  it('loses no token when several are created during the first start of a service', async () => {
    const service = directory.launch({});
    try {
      const names = Array.from({ length: 5 }, (_, index) => `ci-${index}`);
      const runs = await Promise.all(names.map((name) => token(['create', '--name', name])));
      const url = await service.listening();

      expect(runs.map(({ status }) => status)).toEqual(names.map(() => 0));
      const listed = (await token(['list'])).stdout.split('\n').map((row) => row.split('\t')[0] ?? '');
      expect(listed.filter((name) => name.startsWith('ci-')).sort()).toEqual(names);
      for (const { stdout } of runs) await untilAnswer(200, url, stdout.trim());
      const shown = /Bearer ([\w-]+)/.exec(service.stderr)?.[1];
      expect(listed.includes('first-start')).toBe(shown !== undefined);
      if (shown !== undefined) expect(await attempt(url, shown)).toBe(200);
    } finally {
      await service.stop();
    }
  });

  it('changes the tokens of a running service', async () => {
    const service = directory.launch({});
    try {
      const url = await service.listening();
      const made = (await token(['create', '--name', 'ci'])).stdout.trim();
      await untilAnswer(200, url, made);

      await token(['revoke', 'ci']);
      await untilAnswer(401, url, made);

      writeFileSync(directory.file('data/tokens'), line('ci', made) + line('a', 'a') + line('b', 'b'));
      service.signal('SIGHUP');
      await service.printed(/(number of tokens now: 3)/);
      expect(await attempt(url, made)).toBe(200);
      expect(await service.stop()).toBe(0);
      expect(service.stdout).not.toContain(made);
    } finally {
      await service.stop('SIGKILL');
    }
  });

  it.each<{ what: string; parameters?: readonly string[]; variables?: Variables; expected: string }>([
    { what: 'ACCESS_TOKENS_FILE', variables: { ACCESS_TOKENS_FILE: 'named' }, expected: 'named' },
    {
      what: '--file, even with ACCESS_TOKENS_FILE',
      parameters: ['--file', 'named'],
      variables: { ACCESS_TOKENS_FILE: 'other', PORT: 'bad' },
      expected: 'named',
    },
    {
      what: 'the directory of the data',
      variables: { DATABASE_URL: 'sqlite:green/house.db' },
      expected: 'green/tokens',
    },
    { what: 'the target of a symbolic link', parameters: ['--file', 'link'], expected: 'tokens' },
  ])('changes the file of $what', async ({ parameters = [], variables, expected }) => {
    put(file, '# empty\n');
    symlinkSync('tokens', directory.file('link'));

    expect((await token(['create', '--name', 'ci', ...parameters], variables)).status).toBe(0);
    expect(readFileSync(directory.file(expected), 'utf8')).toMatch(/^ci sha256:/m);
  });

  it.each<{ command: string; status: number; complaint: RegExp; variables?: Variables }>([
    { command: 'create --name two\u00a0words', status: 2, complaint: /It must be one word/ },
    { command: 'create --name -x', status: 2, complaint: /one word that does not begin with # or -/ },
    { command: 'create --name ci --expires 2999-02-30T00:00:00Z', status: 2, complaint: /It must be days/ },
    { command: 'create --name ci --expires 2020-01-01T00:00:00Z', status: 2, complaint: /It must be days/ },
    { command: 'list', status: 2, complaint: /with ACCESS_TOKENS alone/, variables: { ACCESS_TOKENS: 'x' } },
    { command: 'create --name ci --file tokens', status: 1, complaint: /: ci already has a token/ },
    { command: 'revoke unknown --file tokens', status: 1, complaint: /: tokens has no token named unknown/ },
    { command: 'list --file nowhere', status: 1, complaint: /: nowhere cannot be read/ },
    { command: 'create --name x --file tokens/x', status: 1, complaint: /: tokens\/x cannot be written/ },
  ])('$command fails with status $status', async ({ command, status, complaint, variables }) => {
    put(file, line('ci', TOKEN));

    const run = await token(command.split(' '), variables);

    expect(run).toMatchObject({ status, stdout: '' });
    expect(run.stderr).toMatch(complaint);
    expect(readFileSync(file, 'utf8')).toBe(line('ci', TOKEN));
    expect(readdirSync(directory.path)).toEqual(['tokens']);
  });

  it('does not follow a broken symbolic link', async () => {
    symlinkSync(directory.file('nowhere'), file);

    const { status, stderr } = await token(['create', '--name', 'x', '--file', 'tokens']);
    expect(status).toBe(1);
    expect(stderr).toMatch(/^plant-store: tokens cannot be read/);
    expect(readdirSync(directory.path)).toEqual(['tokens']);
  });

  it.each([
    ['an invalid line', 'ci a-secret\n', 0o600, /line 1, is not a token/],
    ['a world-readable mode', line('ci', TOKEN), 0o644, /chmod 600/],
  ])('does not change a file with %s', async (_, text, mode, complaint) => {
    put(file, text, mode);

    for (const parameters of [['create', '--name', 'x'], ['list']]) {
      const { status, stderr } = await token([...parameters, '--file', 'tokens']);
      expect(status).toBe(1);
      expect(stderr).toMatch(complaint);
      expect(stderr).not.toContain('a-secret');
    }
    expect(readFileSync(file, 'utf8')).toBe(text);
  });

  it('prints its results as JSON', async () => {
    const created = JSON.parse(
      (await token(['create', '--name', 'ci', '--expires', 'never', '--json'])).stdout,
    ) as object;

    expect(created).toEqual({
      name: 'ci',
      token: expect.stringMatching(/^[\w-]{43}$/) as unknown,
      expires: null,
      file: 'data/tokens',
    });
    expect(JSON.parse((await token(['list', '--json'])).stdout)).toEqual([
      { name: 'ci', expires: null, state: 'valid' },
    ]);
    expect(JSON.parse((await token(['revoke', 'ci', '--json'])).stdout)).toEqual({ name: 'ci', file: 'data/tokens' });
  });

  if (process.getuid?.() !== 0) return;

  it('gives the file to the owner of its directory when root runs it, and keeps its owner', async () => {
    mkdirSync(directory.file('state'));
    chownSync(directory.file('state'), 12_345, 12_345);
    const tokens = ['--file', 'state/data/tokens'];

    for (const command of [['create', '--name', 'one'], ['create', '--name', 'two'], ['revoke', 'one'], ['list']]) {
      expect(await token([...command, ...tokens])).toMatchObject({ status: 0 });
      for (const name of ['state/data', 'state/data/tokens']) {
        expect({ name, uid: statSync(directory.file(name)).uid }).toEqual({ name, uid: 12_345 });
      }
    }
  });

  it("leaves root's file readable for the group of the service", async () => {
    put(file, line('ci', TOKEN), 0o640);
    chownSync(file, 0, 12_345);

    for (const command of [
      ['create', '--name', 'two'],
      ['revoke', 'ci'],
    ]) {
      expect(await token([...command, '--file', 'tokens'])).toMatchObject({ status: 0 });
      const { uid, gid, mode } = statSync(file);
      expect({ uid, gid, mode: mode & 0o777 }).toEqual({ uid: 0, gid: 12_345, mode: 0o640 });
    }
  });
});
