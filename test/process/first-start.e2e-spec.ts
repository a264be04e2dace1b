import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { create, CREATED, MONSTERA, refusal } from '../support/client.js';
import { Paper } from '../support/paper.js';
import { occupyPort, reservePort } from '../support/ports.js';
import { CURL, ServiceDirectory } from '../support/service-directory.js';
import { line, untilAnswer } from '../support/token-file.js';

const directory = ServiceDirectory.ofEachTest();

describe('The first start without configuration', () => {
  it('prints the command that the README shows, with a token that creates a plant', async () => {
    const { service, token, url } = await directory.firstStart();
    expect(await create(url, MONSTERA, token)).toEqual(CREATED);

    const shown = (await service.printed(CURL)).replace(url, 'http://127.0.0.1:3000').replace(token, '<ACCESS_TOKEN>');

    expect(new Paper('README.md').text).toContain(`\n${shown}\n`);
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
    expect(service.stdout).not.toContain('has changed');
  });

  it('stores the digest of the token in the directory of the data, and later starts use it until it is removed', async () => {
    const variables = { DATABASE_URL: 'sqlite:elsewhere/p.db' };
    const file = directory.file('elsewhere/tokens');
    const first = await directory.firstStart(variables);
    await first.service.stop();
    expect(readFileSync(file, 'utf8')).toBe(line('first-start', first.token));
    for (const name of ['', 'p.db', 'tokens']) {
      expect(statSync(directory.file(`elsewhere/${name}`)).mode & 0o077).toBe(0);
    }

    const second = await directory.start(variables);
    expect(await create(second.url, MONSTERA, first.token)).toEqual(CREATED);
    await second.service.stop();
    expect(second.service.stderr).toBe('');

    rmSync(file);
    const third = await directory.firstStart(variables);
    expect(await create(third.url, MONSTERA, first.token)).toEqual(refusal(401));
    expect(await create(third.url, MONSTERA, third.token)).toEqual(CREATED);
  });

  it('creates no token where an issuer of tokens is configured, also while that cannot be reached', async () => {
    const issuer = `http://127.0.0.1:${reservePort().port}`;
    const { service } = await directory.start({ JWT_ISSUER: issuer, JWT_AUDIENCE: 'https://plants.example.com' });
    await service.printed(
      new RegExp(
        `(The keys of ${issuer} cannot be fetched: fetch failed \\(connect ECONNREFUSED ${issuer.slice(7)}\\))`,
      ),
    );
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

  it('prints the command that creates a token, and no token, when systemd keeps its output', async () => {
    // As systemd does, the shell names the file that its stderr goes to.
    const shell = 'export JOURNAL_STREAM="$(stat -L -c %d:%i /proc/self/fd/2)"; exec "$@"';
    const { service, url } = await directory.start(
      { DATABASE_URL: 'sqlite:my data/plants.db' },
      { wrapper: ['sh', '-c', shell, 'sh'] },
    );
    const command = await service.printed(/^(\S+ \S+ token create .*)$/m);

    expect(service.stderr).not.toMatch(/[\w-]{43}/);
    expect(existsSync(directory.file('my data/tokens'))).toBe(false);
    const { stdout } = spawnSync('sh', ['-c', command], { cwd: '/', encoding: 'utf8' });
    await untilAnswer(200, url, stdout.trim());
  });

  it('prints a token when JOURNAL_STREAM names another file', async () => {
    const { token, url } = await directory.firstStart({ JOURNAL_STREAM: '1:2' });

    expect(await create(url, MONSTERA, token)).toEqual(CREATED);
  });
});
