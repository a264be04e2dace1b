import { createHash } from 'node:crypto';
import { chownSync, readdirSync, readFileSync, readlinkSync, statSync, symlinkSync } from 'node:fs';
import { SECOND_TOKEN, TOKEN } from '../support/client.js';
import { type Run } from '../support/command.js';
import { ask } from '../support/raw-client.js';
import { importing } from '../support/node-process.js';
import { ServiceDirectory, type Variables, WITH_TOKEN } from '../support/service-directory.js';
import { line, put, untilAnswer } from '../support/token-file.js';

const directory = ServiceDirectory.ofEachTest();
const file = directory.file('tokens');

function token(command: string, variables?: Variables): Promise<Run> {
  return directory.run('token', command.split(' '), variables);
}

describe('plant-store token', () => {
  it('prints a new token, and stores its digest in a file with mode 0600', async () => {
    const { status, stdout, stderr } = await token('create --name ci --expires 2999-01-01T00:00:00Z');

    expect(status).toBe(0);
    expect(stdout).toMatch(/^[\w-]{43}\n$/);
    expect(stderr).toMatch(/^ci expires at 2999-01-01T00:00:00.000Z\. [^\n]+\n$/);
    const digest = createHash('sha256').update(stdout.trim()).digest('hex');
    const stored = directory.file('data/tokens');
    expect(readFileSync(stored, 'utf8')).toBe(`ci sha256:${digest} 2999-01-01T00:00:00Z\n`);
    expect(statSync(stored).mode & 0o777).toBe(0o600);
    expect(readdirSync(directory.file('data'))).toEqual(['tokens']);
  });

  it('changes the file of ACCESS_TOKENS_FILE, although ACCESS_TOKENS is set, too', async () => {
    const both = { ...WITH_TOKEN, ACCESS_TOKENS_FILE: 'tokens' };

    expect(await token('create --name ci', both)).toMatchObject({ status: 0 });
    expect(await token('list', both)).toMatchObject({ status: 0, stdout: expect.stringMatching(/^ci\t/) as unknown });
    expect(await token('revoke ci', both)).toMatchObject({ status: 0 });
    expect(readFileSync(file, 'utf8')).not.toContain('sha256:');
  });

  it.each(['create', 'list', 'revoke'])('names --file in the help of %s', async (name) => {
    expect((await token(`${name} --help`)).stdout).toContain('\n  --file <path> ');
  });

  it('prints its results as JSON', async () => {
    expect(JSON.parse((await token('create --name ci --expires never --json')).stdout)).toEqual({
      name: 'ci',
      token: expect.stringMatching(/^[\w-]{43}$/) as unknown,
      expires: null,
      file: 'data/tokens',
    });
    expect(JSON.parse((await token('list --json')).stdout)).toEqual([{ name: 'ci', expires: null, state: 'valid' }]);
    expect(JSON.parse((await token('revoke ci --json')).stdout)).toEqual({ name: 'ci', file: 'data/tokens' });
  });

  it('prints names and files with the characters of a URL as they are', async () => {
    const { status, stdout, stderr } = await token('create --name spiffe://prod/ci@eu --file tokens@home --json');

    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(JSON.parse(stdout)).toEqual({
      name: 'spiffe://prod/ci@eu',
      token: expect.stringMatching(/^[\w-]{43}$/) as unknown,
      expires: expect.any(String) as unknown,
      file: 'tokens@home',
    });
    expect(await token('revoke spiffe://prod/ci@eu --file tokens@home')).toMatchObject({
      status: 0,
      stderr: 'spiffe://prod/ci@eu is revoked.\n',
    });
  });

  it('lists names, expiry times and states', async () => {
    put(file, `# ours\n${line('ci', TOKEN)}${line('leaver', SECOND_TOKEN, new Date('2020-01-01T00:00:00Z'))}`);

    expect(await token('list --file tokens')).toEqual({
      status: 0,
      stdout: 'ci\tnever\tvalid\nleaver\t2020-01-01T00:00:00.000Z\texpired\n',
      stderr: '',
    });
  });

  it('adds a token behind a last line without its end, and changes no other line', async () => {
    const before = `# ours\r\n\n${line('nursery', SECOND_TOKEN)}`.trimEnd();
    put(file, before);

    await token('create --name ci --expires never --file tokens');

    const text = readFileSync(file, 'utf8');
    expect(text.startsWith(before)).toBe(true);
    expect(text.slice(before.length)).toMatch(/^\nci sha256:[\da-f]{64}\n$/);
  });

  it('revokes a token by its name, and does not change other lines', async () => {
    const rest = `# ci was here\r\n\n  ${line('ci-nursery', SECOND_TOKEN)}`;
    put(file, `${line('ci', TOKEN)}${rest}${line('ci', 'a-third-token')}`);

    expect(await token('revoke ci --file tokens')).toEqual({ status: 0, stdout: '', stderr: 'ci is revoked.\n' });
    expect(readFileSync(file, 'utf8')).toBe(rest);

    // Without any token, too, the file is valid.
    await token('revoke ci-nursery --file tokens');
    expect(await token('list --file tokens')).toEqual({ status: 0, stdout: '', stderr: '' });
  });

  it('revokes a token in the target of a symbolic link, and leaves the link', async () => {
    put(file, `${line('ci', TOKEN)}${line('nursery', SECOND_TOKEN)}`);
    symlinkSync('tokens', directory.file('link'));

    expect(await token('revoke ci --file link')).toMatchObject({ status: 0, stderr: 'ci is revoked.\n' });
    expect(readlinkSync(directory.file('link'))).toBe('tokens');
    expect(readFileSync(file, 'utf8')).toBe(line('nursery', SECOND_TOKEN));
    expect(readdirSync(directory.path).sort()).toEqual(['link', 'tokens']);
  });

  it('leaves a file with mode 0640 readable for the same users', async () => {
    const group = process.getuid?.() === 0 ? 12_345 : statSync(directory.path).gid;
    put(file, line('ci', TOKEN), 0o640);
    chownSync(file, statSync(file).uid, group);

    for (const command of ['create --name two', 'revoke ci']) {
      expect(await token(`${command} --file tokens`)).toMatchObject({ status: 0 });
      const { gid, mode } = statSync(file);
      expect({ gid, mode: mode & 0o777 }).toEqual({ gid: group, mode: 0o640 });
    }
  });

  it('sets an expiry of 90 days by default, or of another number of days', async () => {
    await token('create --name default');
    await token('create --name year --expires 365d');
    const expiries = (await token('list')).stdout.split('\n').map((row) => row.split('\t')[1] ?? '');

    const [first, year] = expiries.map((expiry) => (Date.parse(expiry) - Date.now()) / 86_400_000);
    expect(first).toBeCloseTo(90, 2);
    expect(year).toBeCloseTo(365, 2);
  });

  it('loses no token when several are created during the first start of a service, which uses them all', async () => {
    const service = directory.launch();
    const names = ['ci-0', 'ci-1', 'ci-2', 'ci-3', 'ci-4'];
    const runs = await Promise.all(names.map((name) => token(`create --name ${name}`)));
    const url = await service.listening();

    expect(runs.map(({ status }) => status)).toEqual(names.map(() => 0));
    for (const { stdout } of runs) await untilAnswer(200, url, stdout.trim());
    const listed = (await token('list')).stdout;
    for (const name of names) expect(listed).toContain(`${name}\t`);
    const shown = /Bearer ([\w-]+)/.exec(service.stderr)?.[1];
    expect(listed.includes('first-start')).toBe(shown !== undefined);
    if (shown !== undefined) expect(await ask(url, shown)).toBe(200);

    await token('revoke ci-0');
    await untilAnswer(401, url, runs[0]?.stdout.trim() ?? '');
    expect(await service.stop()).toBe(0);
    for (const { stdout } of runs) expect(service.stdout).not.toContain(stdout.trim());
  });

  it('keeps the token that another command adds to the file before this one has written to it', async () => {
    const another = line('another', SECOND_TOKEN);
    const interrupted = importing(
      "import fs from 'node:fs'; import { syncBuiltinESMExports } from 'node:module'; const { openSync } = fs;" +
        'fs.openSync = (path, flags, mode) => { const descriptor = openSync(path, flags, mode);' +
        `if (/x/.test(flags)) fs.appendFileSync(path, ${JSON.stringify(another)}); return descriptor; };` +
        'syncBuiltinESMExports();',
    );

    expect(await token('create --name ci --file tokens', interrupted)).toMatchObject({ status: 0 });

    expect(readFileSync(file, 'utf8').split('\n')).toEqual([another.trim(), expect.stringMatching(/^ci sha256:/), '']);
  });

  it.each<{ what: string; options?: string; variables?: Variables; changed: string }>([
    { what: 'ACCESS_TOKENS_FILE', variables: { ACCESS_TOKENS_FILE: 'named' }, changed: 'named' },
    {
      what: '--file, also where the configuration is wrong',
      options: ' --file named',
      variables: { ACCESS_TOKENS_FILE: 'other', PORT: 'bad' },
      changed: 'named',
    },
    { what: 'the data directory', variables: { DATABASE_URL: 'sqlite:green/house.db' }, changed: 'green/tokens' },
    { what: 'the target of a symbolic link', options: ' --file link', changed: 'tokens' },
  ])('changes the file of $what', async ({ options = '', variables, changed }) => {
    put(file, '# empty\n');
    symlinkSync('tokens', directory.file('link'));

    expect(await token(`create --name ci${options}`, variables)).toMatchObject({ status: 0 });
    expect(readFileSync(directory.file(changed), 'utf8')).toMatch(/^ci sha256:/m);
  });

  it.each<{ command: string; status: number; complaint: RegExp; variables?: Variables }>([
    { command: 'create --name two\u00a0words', status: 2, complaint: /It must be one word/ },
    { command: 'create --name #ci', status: 2, complaint: /It must be one word/ },
    { command: 'create --name ci\u200b', status: 2, complaint: /It must be one word/ },
    { command: 'create --name=-ci', status: 2, complaint: /It must be one word/ },
    { command: 'create --name ci --expires 0d', status: 2, complaint: /It must be days/ },
    { command: 'create --name ci --expires 90', status: 2, complaint: /It must be days/ },
    { command: 'create', status: 2, complaint: /required option '--name <name>' not specified/ },
    { command: 'create --name ci --expires 2999-02-30T00:00:00Z', status: 2, complaint: /It must be days/ },
    { command: 'create --name ci --expires 2020-01-01T00:00:00Z', status: 2, complaint: /It must be days/ },
    { command: 'list', status: 2, complaint: /with ACCESS_TOKENS alone/, variables: { ACCESS_TOKENS: 'x' } },
    { command: 'create --name ci --file tokens', status: 1, complaint: /: ci already has a token/ },
    { command: 'revoke unknown --file tokens', status: 1, complaint: /: tokens has no token named unknown/ },
    {
      command: 'list --file nowhere',
      status: 2,
      complaint: /: there is no file nowhere: create it with plant-store token create/,
    },
    { command: 'create --name x --file tokens/x', status: 1, complaint: /tokens\/x cannot be written: ENOTDIR/ },
    {
      command: 'create --name x --file broken',
      status: 2,
      complaint: /there is no file broken: /,
    },
    { command: 'create --name x --file public', status: 2, complaint: /chmod 600/ },
    { command: 'create --name x --file bad', status: 1, complaint: /line 1, is not a token/ },
  ])('$command fails with status $status, and changes nothing', async ({ command, status, complaint, variables }) => {
    const texts = { tokens: line('ci', TOKEN), public: line('ci', TOKEN), bad: 'ci a-secret\n' };
    for (const [name, text] of Object.entries(texts))
      put(directory.file(name), text, name === 'public' ? 0o644 : 0o600);
    symlinkSync('nowhere', directory.file('broken'));

    const run = await token(command, variables);

    expect(run).toMatchObject({ status, stdout: '' });
    expect(run.stderr).toMatch(complaint);
    expect(run.stderr).not.toContain('a-secret');
    for (const [name, text] of Object.entries(texts)) expect(readFileSync(directory.file(name), 'utf8')).toBe(text);
    expect(readdirSync(directory.path).sort()).toEqual(['bad', 'broken', 'public', 'tokens']);
  });
});
