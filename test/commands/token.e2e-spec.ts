import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, readlinkSync, statSync, symlinkSync } from 'node:fs';
import { SECOND_TOKEN, TOKEN } from '../support/client.js';
import type { Run } from '../support/command.js';
import { ask } from '../support/raw-client.js';
import { ServiceDirectory, type Variables } from '../support/service-directory.js';
import { line, put, untilAnswer } from '../support/token-file.js';

const directory = ServiceDirectory.ofEachTest();
const file = directory.file('tokens');

function token(command: string, variables?: Variables): Promise<Run> {
  return directory.run('token', command.split(' '), variables);
}

describe('plant-store token', () => {
  it('prints a new token, and stores its digest beside the data in a file with mode 0600', async () => {
    const { status, stdout, stderr } = await token('create --name ci --expires 2999-01-01T00:00:00Z', {
      DATABASE_URL: 'sqlite:green/house.db',
    });

    expect(status).toBe(0);
    expect(stdout).toMatch(/^[\w-]{43}\n$/);
    expect(stderr).toMatch(/^ci expires at 2999-01-01T00:00:00.000Z\. [^\n]+\n$/);
    const digest = createHash('sha256').update(stdout.trim()).digest('hex');
    const stored = directory.file('green/tokens');
    expect(readFileSync(stored, 'utf8')).toBe(`ci sha256:${digest} 2999-01-01T00:00:00Z\n`);
    expect(statSync(stored).mode & 0o777).toBe(0o600);
    expect(readdirSync(directory.file('green'))).toEqual(['tokens']);
  });

  it('sets an expiry of 90 days by default, or of another number of days', async () => {
    await token('create --name default');
    await token('create --name year --expires 365d');
    const expiries = (await token('list')).stdout.split('\n').map((row) => row.split('\t')[1] ?? '');

    const [first, year] = expiries.map((expiry) => (Date.parse(expiry) - Date.now()) / 86_400_000);
    expect(first).toBeCloseTo(90, 2);
    expect(year).toBeCloseTo(365, 2);
  });

  it('adds, lists and revokes tokens in the target of a symbolic link, and changes no other line', async () => {
    const others = `# ci was here\r\n\n  ${line('leaver', SECOND_TOKEN, new Date('2020-01-01T00:00:00Z'))}`;
    // The last line has no end.
    put(file, `${line('ci', TOKEN)}${others}`.trimEnd());
    symlinkSync('tokens', directory.file('link'));

    expect(await token('create --name ci-2 --expires never --file link')).toMatchObject({ status: 0 });
    expect(await token('list --file link')).toEqual({
      status: 0,
      stdout: 'ci\tnever\tvalid\nleaver\t2020-01-01T00:00:00.000Z\texpired\nci-2\tnever\tvalid\n',
      stderr: '',
    });
    expect(await token('revoke ci --file link')).toEqual({ status: 0, stdout: '', stderr: 'ci is revoked.\n' });

    expect(readlinkSync(directory.file('link'))).toBe('tokens');
    const text = readFileSync(file, 'utf8');
    expect(text.slice(0, others.length)).toBe(others);
    expect(text.slice(others.length)).toMatch(/^ci-2 sha256:[\da-f]{64}\n$/);
    expect(readdirSync(directory.path).sort()).toEqual(['link', 'tokens']);
  });

  it('prints its results as JSON, with names and files as they are', async () => {
    const name = 'spiffe://prod/ci@eu';
    const end = '--file tokens@home --json';

    const created = await token(`create --name ${name} --expires never ${end}`);

    expect({ ...created, stdout: JSON.parse(created.stdout) as unknown }).toEqual({
      status: 0,
      stdout: { name, token: expect.stringMatching(/^[\w-]{43}$/) as unknown, expires: null, file: 'tokens@home' },
      stderr: '',
    });
    expect(JSON.parse((await token(`list ${end}`)).stdout)).toEqual([{ name, expires: null, state: 'valid' }]);
    expect(JSON.parse((await token(`revoke ${name} ${end}`)).stdout)).toEqual({ name, file: 'tokens@home' });
  });

  it('does not ask for a configuration when --file names the file, as its help says', async () => {
    put(file, '# empty\n');

    expect(await token('create --name ci --file tokens', { ACCESS_TOKENS_FILE: 'other', PORT: 'bad' })).toMatchObject({
      status: 0,
    });
    expect(readFileSync(file, 'utf8')).toMatch(/^ci sha256:/m);
    expect((await token('create --help')).stdout).toContain('\n  --file <path> ');
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

  it.each<{ command: string; status: number; complaint: RegExp; variables?: Variables }>([
    { command: 'create', status: 2, complaint: /required option '--name <name>' not specified/ },
    { command: 'create --name two\u00a0words', status: 2, complaint: /It must be one word/ },
    { command: 'create --name=-ci', status: 2, complaint: /It must be one word/ },
    { command: 'create --name ci --expires 0d', status: 2, complaint: /It must be days/ },
    { command: 'create --name ci --expires 2020-01-01T00:00:00Z', status: 2, complaint: /It must be days/ },
    { command: 'list', status: 2, complaint: /with ACCESS_TOKENS alone/, variables: { ACCESS_TOKENS: 'x' } },
    { command: 'create --name ci --file tokens', status: 1, complaint: /: ci already has a token/ },
    { command: 'revoke unknown --file tokens', status: 1, complaint: /: tokens has no token named unknown/ },
    { command: 'list --file nowhere', status: 2, complaint: /: there is no file nowhere: create it with plant-store / },
    { command: 'create --name x --file tokens/x', status: 1, complaint: /tokens\/x cannot be written: ENOTDIR/ },
    { command: 'create --name x --file broken', status: 2, complaint: /there is no file broken: / },
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
