import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { create, CREATED, MONSTERA, refusal } from '../support/client.js';
import { importing } from '../support/node-process.js';
import { Paper } from '../support/paper.js';
import { occupyPort, reservePort } from '../support/ports.js';
import { CURL, ServiceDirectory, type Variables, WITH_TOKEN } from '../support/service-directory.js';
import { line, untilAnswer } from '../support/token-file.js';

const directory = ServiceDirectory.ofEachTest();

describe('The first start without configuration', () => {
  it('ends its output with the command that the README shows, whose token creates a plant', async () => {
    // A terminal shows both streams.
    const service = directory.launch({ HOST: '0.0.0.0' }, { wrapper: ['sh', '-c', 'exec "$@" 2>&1', 'sh'] });
    const command = await service.printed(CURL);
    const [, url = '', token = ''] = /^curl -i (\S+)\/plants[^]+Bearer ([\w-]+)'/.exec(command) ?? [];
    expect(await create(url, MONSTERA, token)).toEqual(CREATED);

    const shown = command.replace(url, 'http://127.0.0.1:3000').replace(token, '<ACCESS_TOKEN>');
    expect(new Paper('README.md').text).toContain(`\n${shown}\n`);
    const [log] = service.stdout.split('\nNo token is configured');
    expect(log).toMatch(/"message":"Listening: /);
    expect(log).toMatch(/"message":"Tokens travel in clear text: /);
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
    expect(second.service.stdout).toMatch(/Static tokens: 1; to create another one, run \S+ \S+ token create --name/);

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

  it('logs the command that creates a token, and shows no token, when systemd keeps its output', async () => {
    // As systemd does, the shell names the file that its stderr goes to.
    const shell = 'export JOURNAL_STREAM="$(stat -L -c %d:%i /proc/self/fd/2)"; exec "$@"';
    const { service, url } = await directory.start(
      { DATABASE_URL: 'sqlite:my data/plants.db' },
      { wrapper: ['sh', '-c', shell, 'sh'] },
    );
    const command = await service.printed(/There is no token, so every request gets error 401\. Create one: ([^"]+)"/);

    expect(service.stderr).toBe('');
    expect(existsSync(directory.file('my data/tokens'))).toBe(false);
    const { stdout } = spawnSync('sh', ['-c', command], { cwd: '/', encoding: 'utf8' });
    await untilAnswer(200, url, stdout.trim());
  });

  it('prints a token when JOURNAL_STREAM names another file', async () => {
    const { token, url } = await directory.firstStart({ JOURNAL_STREAM: '1:2' });

    expect(await create(url, MONSTERA, token)).toEqual(CREATED);
  });

  it('says that there is no token if the token file is a link that leads nowhere', async () => {
    mkdirSync(directory.file('data'), { mode: 0o700 });
    symlinkSync('nowhere', directory.file('data/tokens'));

    const { service } = await directory.start({});

    expect(service.stdout).toContain('There is no token, so every request gets error 401. Create one: ');
  });
});

describe('A start that fails', () => {
  it.each<{ what: string; variables: (takenPort: number) => Variables; status: number; complaint: RegExp }>([
    {
      what: 'its port is taken',
      variables: (port) => ({ PORT: `${port}` }),
      status: 1,
      complaint: /HOST and PORT: cannot listen \(listen EADDRINUSE: .+ 127\.0\.0\.1:\d+\): set an address .+/,
    },
    {
      what: 'the management port is taken',
      variables: (port) => ({ MANAGEMENT_PORT: `${port}` }),
      status: 1,
      complaint: /MANAGEMENT_HOST and MANAGEMENT_PORT: cannot listen \(listen EADDRINUSE: .+/,
    },
    {
      what: 'the token file is missing',
      variables: () => ({ ACCESS_TOKENS_FILE: 'missing' }),
      status: 2,
      complaint: /ACCESS_TOKENS_FILE: there is no file missing: .+/,
    },
    {
      what: 'the certificate is missing',
      variables: () => ({ TLS_CERT_FILE: 'missing', TLS_KEY_FILE: 'missing' }),
      status: 2,
      complaint: /TLS_CERT_FILE and TLS_KEY_FILE: there is no file missing: .+/,
    },
  ])('because $what says so in one line, and leaves no token', async ({ variables, status, complaint }) => {
    const taken = await occupyPort();
    const failure = await directory.failedStart(variables(taken.port));
    taken.free();

    expect(failure.complaint).toMatch(new RegExp(`^plant-store: ${complaint.source}\n$`));
    expect(failure.status).toBe(status);
    expect(existsSync(directory.file('data/tokens'))).toBe(false);
    // A file that cannot be read leaves no store either.
    if (status === 2) expect(existsSync(directory.file('data'))).toBe(false);
  });

  it('because its management port is taken cuts off no client: its public port has not opened', async () => {
    const telling = importing(`
      import { Server } from 'node:net';
      const { listen } = Server.prototype;
      Server.prototype.listen = function (...parameters) {
        this.once('listening', () => process.stderr.write('A port has opened. '));
        return listen.apply(this, parameters);
      };`);
    const taken = await occupyPort();
    const { complaint } = await directory.failedStart({ ...telling, ...WITH_TOKEN, MANAGEMENT_PORT: `${taken.port}` });
    taken.free();

    expect(complaint).toMatch(/^plant-store: MANAGEMENT_HOST and MANAGEMENT_PORT: /);
  });

  it('because of a defect prints the stack, and ends with status 1', async () => {
    const defect = importing(`
      import { Server } from 'node:net';
      Server.prototype.listen = function () { process.nextTick(() => this.emit('error', new RangeError('a defect'))) };`);

    const { status, complaint } = await directory.failedStart(defect);

    expect(complaint).toMatch(/^plant-store: RangeError: a defect\n +at /);
    expect(status).toBe(1);
  });
});
