import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { create, CREATED, MONSTERA, post, refusal, SECOND_TOKEN, TOKEN } from '../support/client.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';
import { variableNames } from '../support/variable-names.js';

let directory: ServiceDirectory;

beforeEach(() => {
  directory = new ServiceDirectory();
});

afterEach(() => directory.remove());

describe('The environment', () => {
  it('is completed by .env in the working directory', async () => {
    directory.write('.env', `# for the tests\nACCESS_TOKENS="${TOKEN}"\nBASE_PATH=/from-the-file\n`);

    const { url } = await directory.start({});

    expect(new URL(url).pathname).toBe('/from-the-file');
    expect(await create(url)).toEqual(CREATED);
  });

  it('overrides .env', async () => {
    directory.write('.env', `ACCESS_TOKENS=${SECOND_TOKEN}\nBASE_PATH=/from-the-file\n`);

    const { url } = await directory.start({ ...WITH_TOKEN, BASE_PATH: '/from-the-environment' });

    expect(new URL(url).pathname).toBe('/from-the-environment');
    expect(await create(url)).toEqual(CREATED);
    expect(await create(url, MONSTERA, SECOND_TOKEN)).toEqual(refusal(401));
  });

  it.each<[string, Uint8Array]>([
    ['with a byte order mark', Buffer.from(`\uFEFFACCESS_TOKENS=${TOKEN}\nBASE_PATH=/file\n`)],
    ['with lines that end with CRLF', Buffer.from(`ACCESS_TOKENS=${TOKEN}\r\nBASE_PATH=/file\r\n`)],
    ['without an end of the last line', Buffer.from(`ACCESS_TOKENS=${TOKEN}\nBASE_PATH=/file`)],
  ])('is completed by .env %s', async (_, bytes) => {
    writeFileSync(directory.file('.env'), bytes);

    const { url } = await directory.start({});

    expect(new URL(url).pathname).toBe('/file');
    expect(await create(url)).toEqual(CREATED);
  });

  it.each<[string, () => void]>([
    ['is a directory', () => mkdirSync(directory.file('.env'))],
    ['is a link to itself', () => symlinkSync('.env', directory.file('.env'))],
    ['is UTF-16', () => writeFileSync(directory.file('.env'), Buffer.from('\uFEFFPORT=1\n', 'utf16le'))],
    ['is Latin-1', () => writeFileSync(directory.file('.env'), Buffer.from('PORT=1 # \u00FC\n', 'latin1'))],
  ])('ends the start with status 2 and one line if .env %s', async (_, prepare) => {
    prepare();

    const failure = await directory.failedStart();

    expect(failure.status).toBe(2);
    expect(failure.complaint).toBe('plant-store: .env must be a file in UTF-8 that this user may read\n');
  });

  it('may have empty variables, which count as unset', async () => {
    const empty = Object.fromEntries(variableNames().map((name) => [name, '']));

    const { service, token, url } = await directory.firstStart({ ...empty, PORT: '0', MANAGEMENT_PORT: 'off' });

    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(await create(url, MONSTERA, token)).toEqual(CREATED);
    expect(service.stdout).not.toContain('Management: ');
    expect(directory.names()).toEqual(['Monstera']);
    // This address does not exist (RFC 5737 §3): the error shows the default port, which may be in use.
    expect((await directory.failedStart({ HOST: '192.0.2.1', PORT: '' })).complaint).toContain('192.0.2.1:3000');
  });
});

/** Invalid values of each variable. */
const BAD_VALUES: Readonly<Record<string, readonly string[]>> = {
  HOST: ['two words', 'http://localhost'],
  PORT: ['http', '65536', '-1'],
  WORKERS: ['0', '65', 'all'],
  BASE_PATH: ['v1', '/v1/../v2', '/v1?x=y'],
  DATABASE_URL: [
    'plants.db',
    'sqlite:',
    'mysql://user:secret@localhost/plants',
    'postgres://user:secret@localhost/plants?sslmode=prefer',
    'postgres://user:secret@host:port/plants',
    'postgres://user:sec@ret@localhost/plants',
    'postgres://user:1/secret@localhost/plants',
    'postgres://user:1?secret@localhost/plants',
    'postgres://user:1#secret@localhost/plants',
    'postgres://user:secret%@localhost/plants',
    'postgres://user%E2:%82%ACsecret@localhost/plants',
    'postgres://user:secret@localhost/plants%',
  ],
  DATABASE_URL_FILE: ['\n'],
  OTHER_DATABASE_URL: ['plants.db', 'mysql://user:secret@localhost/plants'],
  OTHER_DATABASE_URL_FILE: ['\n'],
  DATABASE_START_TIMEOUT: ['soon', '61m'],
  ACCESS_TOKENS: ['not one secret', 'secret-one,,secret-two', 'geheimnis-ä'],
  ACCESS_TOKENS_FILE: ['\n'],
  JWT_ISSUER: [
    'login.example.com',
    'http://login.example.com',
    'https://user:secret@login.example.com',
    'https://login.example.com ',
  ],
  JWT_AUDIENCE: ['two words'],
  JWT_JWKS_URL: ['/jwks', 'http://login.example.com/jwks', 'file:///jwks'],
  JWT_TYPE: ['jwt', 'id_token'],
  REQUIRED_SCOPE: ['plants write', '"', 'é'],
  BODY_LIMIT: ['0', '257mb', 'much'],
  MAX_CONNECTIONS: ['0', '1000001', 'many'],
  REQUEST_TIMEOUT: ['0s', '30', '61m', 'soon'],
  KEEP_ALIVE_TIMEOUT: ['0ms', '-1s'],
  STORE_TIMEOUT: ['5 s', '1h'],
  SHUTDOWN_TIMEOUT: ['10S', '1.5s'],
  LOG_LEVEL: ['verbose', 'INFO'],
  LOG_REQUESTS: ['none', 'FAILED'],
  TLS_CERT_FILE: ['\n'],
  TLS_KEY_FILE: ['\n'],
  TRUST_PROXY: ['1', '10.0.0.0/33', '0.0.0.0/0', '::/0', '10.0.0.0/00', 'proxy.example', '10.0.0.1,,10.0.0.2'],
  CORS_ORIGINS: ['*', 'null', 'plants.example', 'https://plants.example/', 'https://plants.example/docs'],
  MANAGEMENT_HOST: ['two words', 'http://localhost'],
  MANAGEMENT_PORT: ['http', '65536', 'OFF'],
  MANAGEMENT_ALLOWED_HOSTS: ['*', 'plant-store:3001', 'http://plant-store', 'one,,other'],
};

describe('A variable with an invalid value', () => {
  it.each(Object.entries(BAD_VALUES))(
    'ends the start with status 2 and an example, but without the value: %s',
    async (name, values) => {
      const failures = await Promise.all(
        values.map((value) => directory.failedStart({ ...WITH_TOKEN, [name]: value })),
      );

      // The message does not depend on the value.
      const [complaint, ...others] = new Set(failures.map((failure) => failure.complaint));
      expect(complaint).toMatch(new RegExp(`^plant-store: ${name} must be [^\n]+, for example [^\n]+\n$`));
      expect(others).toEqual([]);
      expect(failures.map(({ status }) => status)).toEqual(values.map(() => 2));
    },
  );

  it('is refused in .env as well', async () => {
    directory.write('.env', 'LOG_LEVEL=loud\n');

    expect((await directory.failedStart()).complaint).toMatch(/^plant-store: LOG_LEVEL must be /);
  });

  it('is tested for each variable', () => {
    expect(Object.keys(BAD_VALUES).sort()).toEqual(variableNames().sort());
  });
});

describe('A variable without another one that it needs', () => {
  it.each([
    ['JWT_ISSUER', 'https://login.example.com', 'JWT_AUDIENCE'],
    ['JWT_AUDIENCE', 'https://plants.example.com', 'JWT_ISSUER'],
    ['JWT_JWKS_URL', 'https://login.example.com/jwks', 'JWT_ISSUER'],
    ['TLS_CERT_FILE', 'tls.crt', 'TLS_KEY_FILE'],
    ['TLS_KEY_FILE', 'tls.key', 'TLS_CERT_FILE'],
  ])('%s, ends the start with a line that says what to set', async (name, value, other) => {
    const { status, complaint } = await directory.failedStart({ ...WITH_TOKEN, [name]: value });

    expect(complaint).toMatch(
      new RegExp(`^plant-store: ${other} must be set, because ${name} is set: [^\n]+, for example [^\n]+\n$`),
    );
    expect(status).toBe(2);
  });
});

describe('A file with the value of a variable', () => {
  it.each([
    [
      'is not there',
      'nowhere',
      {},
      'DATABASE_URL_FILE must be the path of a file that this user may read, for example /run/secrets/database-url',
    ],
    ['has another text', 'url', {}, expect.stringMatching(/^the text in DATABASE_URL_FILE must be a URL [^\n]+$/)],
    [
      'stands beside the variable',
      'url',
      { DATABASE_URL: 'sqlite:plants.db' },
      'DATABASE_URL and DATABASE_URL_FILE exclude each other: set one of them',
    ],
  ])('that %s ends the start with status 2, and is not shown', async (_, file, variables, complaint: unknown) => {
    directory.write('url', 'mysql://user:secret@localhost/plants\n');

    const failure = await directory.failedStart({ ...WITH_TOKEN, ...variables, DATABASE_URL_FILE: file });

    expect(failure.status).toBe(2);
    expect(failure.complaint.replace(/^plant-store: (.*)\n$/, '$1')).toEqual(complaint);
    expect(failure.complaint).not.toContain('user:secret');
  });
});

describe('A valid value takes effect', () => {
  it('of HOST, a name or an address', async () => {
    expect(await create((await directory.start({ ...WITH_TOKEN, HOST: 'localhost' })).url)).toEqual(CREATED);
    // This address does not exist (RFC 5737 §3).
    const elsewhere = await directory.failedStart({ ...WITH_TOKEN, HOST: '192.0.2.1' });
    expect(elsewhere).toEqual({ status: 1, complaint: expect.stringContaining('192.0.2.1') as unknown });
  });

  it('of PORT, with 0 for any free port', async () => {
    const first = await directory.start();
    const { port } = new URL(first.url);
    const second = await directory.start({ ...WITH_TOKEN, DATABASE_URL: 'sqlite::memory:' });

    expect(new URL(second.url).port).not.toBe(port);
    const third = await directory.failedStart({ ...WITH_TOKEN, DATABASE_URL: 'sqlite::memory:', PORT: port });
    expect(third).toEqual({ status: 1, complaint: expect.stringContaining(port) as unknown });
  });

  it.each([
    ['/v1', '/v1'],
    ['/v1/', '/v1'],
    ['/garden/v1.0', '/garden/v1.0'],
    ['/', ''],
  ])('of BASE_PATH, %s', async (basePath, path) => {
    const { origin } = new URL((await directory.start({ ...WITH_TOKEN, BASE_PATH: basePath })).url);

    expect(await create(`${origin}${path}`)).toEqual(CREATED);
    expect(await create(`${origin}/elsewhere`)).toEqual(refusal(404));
  });

  it('of DATABASE_URL with a path in the working directory', async () => {
    const { url } = await directory.start({ ...WITH_TOKEN, DATABASE_URL: 'sqlite:green/house.db' });

    await create(url);

    expect(directory.names('green/house.db')).toEqual(['Monstera']);
  });

  it('of DATABASE_URL with an absolute path, from any working directory', async () => {
    const variables = { DATABASE_URL: `sqlite:${directory.file('shared/plants.db')}` };
    const { service, token, url } = await directory.firstStart(variables);
    await create(url, MONSTERA, token);
    await service.stop();
    const elsewhere = directory.file('elsewhere');
    mkdirSync(elsewhere);

    const { url: secondUrl } = await directory.start(variables, { workingDirectory: elsewhere });

    expect(await create(secondUrl, { id: 1, name: 'Ficus' }, token)).toEqual(refusal(409));
  });

  it('of DATABASE_URL, sqlite::memory:, which creates no file', async () => {
    const variables = { ...WITH_TOKEN, DATABASE_URL: 'sqlite::memory:' };
    const first = await directory.start(variables);
    expect(await create(first.url)).toEqual(CREATED);
    await first.service.stop();

    const second = await directory.start(variables);

    expect(await create(second.url, { ...MONSTERA, tag: 'indoor' })).toMatchObject({ status: 200 });
    expect(readdirSync(directory.path)).toEqual([]);
  });

  it('of ACCESS_TOKENS with several tokens', async () => {
    const { url } = await directory.start({ ACCESS_TOKENS: `${TOKEN}, ${SECOND_TOKEN}` });

    expect(await create(url, MONSTERA, TOKEN)).toEqual(CREATED);
    expect(await create(url, MONSTERA, SECOND_TOKEN)).toEqual(CREATED);
    expect(await create(url, MONSTERA, `${TOKEN},${SECOND_TOKEN}`)).toEqual(refusal(401));
    expect(existsSync(directory.file('data/tokens'))).toBe(false);
  });

  it('of DATABASE_URL_FILE, the file with the URL', async () => {
    directory.write('url', 'sqlite:from/file.db\n');

    await create((await directory.start({ ...WITH_TOKEN, DATABASE_URL_FILE: 'url' })).url);

    expect(directory.names('from/file.db')).toEqual(['Monstera']);
  });

  it.each([
    ['16b', 16],
    ['17', 17],
    ['1KB', 1024],
    ['0.5mb', 524_288],
  ])('of BODY_LIMIT, %s', async (limit, bytes) => {
    const { url } = await directory.start({ ...WITH_TOKEN, BODY_LIMIT: limit });

    // Error 400 shows that the service has read the blanks.
    expect(await post(url, ' '.repeat(bytes))).toEqual(refusal(400));
    expect(await post(url, ' '.repeat(bytes + 1))).toEqual(refusal(413));
  });
});
