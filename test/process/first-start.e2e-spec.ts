import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { create, CREATED, MONSTERA, refusal } from '../support/client.js';
import { occupyPort } from '../support/ports.js';
import { CURL, ServiceDirectory } from '../support/service-directory.js';
import { line, untilAnswer } from '../support/token-file.js';
import { inWorkers } from '../support/workers.js';
import { until } from '../support/until.js';

const directory = ServiceDirectory.ofEachTest();

describe('The first start without configuration', () => {
  it('prints a curl command that creates a plant', async () => {
    const { service, url } = await directory.start({});
    const pasted = await service.printed(CURL);

    // A real shell splits the command into its words.
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
    expect(directory.names()).toEqual(['Monstera']);
  });

  it('prints the command that the README shows', async () => {
    const { service, token, url } = await directory.firstStart();
    const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8');

    const shown = (await service.printed(CURL)).replace(url, 'http://127.0.0.1:3000').replace(token, '<ACCESS_TOKEN>');

    expect(readme).toContain(`\n${shown}\n`);
  });

  it('prints the command at the end of its output', async () => {
    // A terminal shows both streams.
    const service = directory.launch({ HOST: '0.0.0.0' }, { wrapper: ['sh', '-c', 'exec "$@" 2>&1', 'sh'] });
    await service.printed(CURL);

    const [log] = service.stdout.split('\nNo token is configured');
    expect(log).toMatch(/"message":"Listening: /);
    expect(log).toMatch(/"message":"Tokens travel in clear text: /);
    await service.stop();
    expect(service.stdout).toMatch(/\n\n\{[^\n]+"message":"Stopping after SIGTERM"\}\n/);
  });

  it('stores the digest of the token in a file with mode 0600, which later starts use until it is removed', async () => {
    const file = directory.file('data/tokens');
    const first = await directory.firstStart();
    await first.service.stop();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, 'utf8')).toBe(line('first-start', first.token));

    const second = await directory.start({});
    expect(await create(second.url, MONSTERA, first.token)).toEqual(CREATED);
    await second.service.stop();
    expect(second.service.stderr).toBe('');
    expect(readFileSync(file, 'utf8')).toBe(line('first-start', first.token));

    rmSync(file);
    const third = await directory.firstStart();
    expect(await create(third.url, MONSTERA, first.token)).toEqual(refusal(401));
    expect(await create(third.url, MONSTERA, third.token)).toEqual(CREATED);
  });

  it('creates no token where an issuer of tokens is configured', async () => {
    const issuer = { JWT_ISSUER: 'https://login.example.com', JWT_AUDIENCE: 'https://plants.example.com' };
    const { service } = await directory.start(issuer);
    await service.stop();

    expect(service.stderr).toBe('');
    expect(existsSync(directory.file('data/tokens'))).toBe(false);
  });

  it('stores no token when it fails', async () => {
    const taken = await occupyPort();
    const { status } = await directory.failedStart({ PORT: `${taken.port}` });
    taken.free();

    expect(status).toBe(1);
    expect(existsSync(directory.file('data/tokens'))).toBe(false);
    const { token, url } = await directory.firstStart();
    expect(await create(url, MONSTERA, token)).toEqual(CREATED);
  });

  it('stores no token when it is stopped before it shows one', async () => {
    directory.write('hold', '');
    const service = directory.launch({ WORKERS: '2', ...inWorkers("while (existsSync('hold')) {}") });
    await until('there is a token file', () => existsSync(directory.file('data/tokens')));

    expect(await service.stop()).toBe(0);
    expect(existsSync(directory.file('data/tokens'))).toBe(false);
  });

  it('stores the token in the directory of the data', async () => {
    const { token } = await directory.firstStart({ DATABASE_URL: `sqlite:${directory.file('elsewhere/p.db')}` });

    expect(readFileSync(directory.file('elsewhere/tokens'), 'utf8')).toBe(line('first-start', token));
    for (const name of ['', 'p.db', 'tokens']) {
      expect(statSync(directory.file(`elsewhere/${name}`)).mode & 0o077).toBe(0);
    }
    expect(existsSync(directory.file('data'))).toBe(false);
  });

  it('prints the command that creates a token, and no token, when systemd keeps its output', async () => {
    // As systemd does, the shell names the file that its stderr goes to.
    const shell = 'export JOURNAL_STREAM="$(stat -L -c %d:%i /proc/self/fd/2)"; exec "$@"';
    const { service, url } = await directory.start({}, { wrapper: ['sh', '-c', shell, 'sh'] });
    const command = await service.printed(/^(\S+ \S+ token create .*)$/m);

    expect(service.stderr).not.toMatch(/[\w-]{43}/);
    expect(existsSync(directory.file('data/tokens'))).toBe(false);
    const { stdout } = spawnSync('sh', ['-c', command], { cwd: '/', encoding: 'utf8' });
    await untilAnswer(200, url, stdout.trim());
  });

  it('prints a token when JOURNAL_STREAM names another file', async () => {
    const { token, url } = await directory.firstStart({ JOURNAL_STREAM: '1:2' });

    expect(await create(url, MONSTERA, token)).toEqual(CREATED);
  });
});
