import { OperatorError } from '../operator-error.js';
import type { Configuration } from './configuration.js';
import { parseConfiguration, VARIABLES } from './load-configuration.js';

/** Invalid values of each variable. */
const BAD_VALUES: Readonly<Record<string, readonly string[]>> = {
  HOST: ['two words', 'http://localhost', 'localhost:3000', '127.0.0.1:3000'],
  PORT: ['http', '65536', '-1'],
  BASE_PATH: ['v1', '/v1/../v2', '/v1?x=y'],
  DATABASE_URL: [
    ...['plants.db', 'sqlite:', 'sqlite: plants.db', 'mysql://user:secret@localhost/plants'],
    'postgres://user:secret@host:port/plants',
    'postgres://user:sec@ret@localhost/plants',
    'postgres://user:1/secret@localhost/plants',
  ],
  DATABASE_START_TIMEOUT: ['soon', '61m'],
  ACCESS_TOKENS: ['not one secret', 'secret-one,,secret-two', 'geheimnis-ä'],
  ACCESS_TOKENS_FILE: ['\n'],
  JWT_ISSUER: [
    ...['login.example.com', 'https://a:b@login.example.com', 'https://a.example ', 'https://a@login.example.com'],
  ],
  JWT_AUDIENCE: ['two words', 'one,,two'],
  JWT_JWKS_URL: ['/jwks', 'file:///jwks'],
  JWT_ALLOW_HTTP: ['true', 'ON'],
  JWT_TYPE: ['jwt', 'id_token'],
  REQUIRED_SCOPE: ['plants write', 'a"b', 'é'],
  BODY_LIMIT: ['0', '0.9', '267386881', '256mb', '1gb', '1 kb', 'much'],
  MAX_CONNECTIONS: ['0', '1000001', 'many'],
  REQUEST_TIMEOUT: ['0s', '30', '61m', '3600001ms', 'soon'],
  KEEP_ALIVE_TIMEOUT: ['0ms', '-1s'],
  STORE_TIMEOUT: ['5 s', '1h'],
  SHUTDOWN_TIMEOUT: ['10S', '1.5s'],
  LOG_LEVEL: ['verbose', 'INFO'],
  LOG_REQUESTS: ['none', 'FAILED'],
  TLS_CERT_FILE: ['\n'],
  TLS_KEY_FILE: ['\n'],
  TRUST_PROXY: ['1', '10.0.0.0/33', '0.0.0.0/0', '::/0', '10.0.0.0/00', 'proxy.example', '10.0.0.1,,10.0.0.2'],
  CORS_ORIGINS: ['*', 'null', 'plants.example', 'https://plants.example/', 'https://plants.example/docs'],
  MANAGEMENT_HOST: ['two words', 'http://localhost', 'localhost:3001'],
  MANAGEMENT_PORT: ['http', '65536', 'OFF'],
};

/** Returns the message with which these variables are refused. */
function complaintAbout(variables: Readonly<Record<string, string>>): string {
  try {
    parseConfiguration(variables);
  } catch (error) {
    if (error instanceof OperatorError) return error.message;
  }
  return `${JSON.stringify(variables)} is not refused`;
}

describe('A variable with an invalid value', () => {
  it.each(Object.entries(BAD_VALUES))('is refused with an example, but without the value: %s', (name, values) => {
    // The message does not depend on the value.
    const [complaint, ...others] = new Set(values.map((value) => complaintAbout({ [name]: value })));
    expect(complaint).toMatch(new RegExp(`^${name} must be .+, for example .+$`));
    expect(others).toEqual([]);
  });

  it('is tested for each variable', () => {
    // A file has no value of its own: load-configuration.spec.ts tests its variable.
    const names = VARIABLES.filter((name) => name !== 'DATABASE_URL_FILE');
    expect(Object.keys(BAD_VALUES).sort()).toEqual(names.sort());
  });
});

describe('Several variables with an invalid value', () => {
  it('have a line each', () => {
    const complaint = complaintAbout({ PORT: 'http', LOG_LEVEL: 'loud', HOST: '127.0.0.1' });

    expect(complaint.split('\n').map((line) => line.split(' ')[0])).toEqual(['PORT', 'LOG_LEVEL']);
  });
});

describe('A value in quotation marks, which a file of variables has left there,', () => {
  // The names of files may have them, and without a rule of their own these two could.
  const names = VARIABLES.filter((name) => !name.endsWith('_FILE'));

  it.each(names.flatMap((name) => ['"', "'"].map((mark) => [name, mark] as const)))(
    'is refused: %s, %s',
    (name, mark) => {
      expect(complaintAbout({ [name]: `${mark}1${mark}` })).toMatch(new RegExp(`^${name} must be .+, for example .+$`));
    },
  );

  it.each(['JWT_AUDIENCE', 'REQUIRED_SCOPE'])('is refused with the reason: %s', (name) => {
    expect(complaintAbout({ [name]: '"plants"' })).toContain('without quotation marks');
  });

  it('may be the name of a file', () => {
    expect(parseConfiguration({ ACCESS_TOKENS_FILE: '"tokens"' }).accessTokensFile).toBe('"tokens"');
  });
});

describe('A variable without another one that it needs', () => {
  it.each([
    ['JWT_ISSUER', 'https://login.example.com', 'JWT_AUDIENCE'],
    ['JWT_AUDIENCE', 'https://plants.example.com', 'JWT_ISSUER'],
    ['JWT_JWKS_URL', 'https://login.example.com/jwks', 'JWT_ISSUER'],
    ['TLS_CERT_FILE', 'tls.crt', 'TLS_KEY_FILE'],
    ['TLS_KEY_FILE', 'tls.key', 'TLS_CERT_FILE'],
  ])('%s, is refused with a line that says what to set', (name, value, other) => {
    expect(complaintAbout({ [name]: value })).toBe(`${other} must be set, because ${name} is set`);
  });
});

describe('The URLs of an identity provider', () => {
  const ISSUER = { JWT_ISSUER: 'http://keycloak:8080/realms/garden', JWT_AUDIENCE: 'plants, a-client' };
  const JWKS = {
    ...ISSUER,
    JWT_ISSUER: 'https://login.example.com',
    JWT_JWKS_URL: 'http://127.0.0.1.example.com/jwks',
  };

  it.each([
    ['JWT_ISSUER', ISSUER],
    ['JWT_JWKS_URL', JWKS],
  ])('are https, unless the operator allows http: %s', (name, variables) => {
    expect(complaintAbout(variables)).toBe(
      `${name} must be https; if you trust the network to it, set JWT_ALLOW_HTTP=on`,
    );
    expect(parseConfiguration({ ...variables, JWT_ALLOW_HTTP: 'on' })).toMatchObject({
      jwtAudience: ['plants', 'a-client'],
      jwtAllowHttp: 'on',
    });
  });

  it('may be http on this machine', () => {
    expect(() => parseConfiguration({ ...ISSUER, JWT_ISSUER: 'http://localhost:8080/realms/garden' })).not.toThrow();
  });
});

describe('The URL of a PostgreSQL server', () => {
  it.each(['db.example.com', '192.0.2.1', '[2001:db8::1]'])('on another machine needs sslmode: %s', (host) => {
    expect(complaintAbout({ DATABASE_URL: `postgres://user:secret@${host}/plants` })).toMatch(
      /^DATABASE_URL must have sslmode, .+: verify-full, .+ or disable .+, for example \S+sslmode=verify-full$/,
    );
    const { databaseUrl } = parseConfiguration({ DATABASE_URL: `postgres://user@${host}/plants?sslmode=disable` });
    expect(databaseUrl.engine).toBe('postgres');
  });

  it.each(['localhost', '127.0.0.1', '[::1]', '%2Frun%2Fpostgresql', 'localhost:5433'])(
    'on this machine needs no sslmode: %s',
    (host) => expect(() => parseConfiguration({ DATABASE_URL: `postgres://user@${host}/plants` })).not.toThrow(),
  );
});

describe('A host with a zone', () => {
  it('is refused, because no URL can have it', () => {
    expect(complaintAbout({ HOST: 'fe80::1%eth0' })).toContain('without a port or zone');
  });
});

describe('A valid value', () => {
  it.each<[text: string, name: keyof Configuration, value: unknown]>([
    ['HOST=::1', 'host', '::1'],
    ['BASE_PATH=/garden/v1.0', 'basePath', '/garden/v1.0'],
    ['BASE_PATH=/v1/', 'basePath', '/v1'],
    ['BASE_PATH=/', 'basePath', ''],
    ['HOST=plants.example.com', 'host', 'plants.example.com'],
    ['PORT=65535', 'port', 65_535],
    ['DATABASE_URL=sqlite:plants.db', 'databaseUrl', { engine: 'sqlite', name: 'sqlite:plants.db', file: 'plants.db' }],
    ['DATABASE_START_TIMEOUT=2s', 'databaseStartTimeout', 2_000],
    ['STORE_TIMEOUT=3s', 'storeTimeout', 3_000],
    ['KEEP_ALIVE_TIMEOUT=5m', 'keepAliveTimeout', 300_000],
    ['SHUTDOWN_TIMEOUT=3600s', 'shutdownTimeout', 3_600_000],
    ['REQUEST_TIMEOUT=1ms', 'requestTimeout', 1],
    ['REQUEST_TIMEOUT=3600000ms', 'requestTimeout', 3_600_000],
    ['MAX_CONNECTIONS=1', 'maxConnections', 1],
    ['MAX_CONNECTIONS=1000000', 'maxConnections', 1_000_000],
    ['REQUIRED_SCOPE=beds:read', 'requiredScope', 'beds:read'],
    ['LOG_LEVEL=fatal', 'logLevel', 'fatal'],
    ['LOG_LEVEL=trace', 'logLevel', 'trace'],
    ['MANAGEMENT_PORT=off', 'managementPort', 'off'],
    ['MANAGEMENT_HOST=0.0.0.0', 'managementHost', '0.0.0.0'],
    ['BODY_LIMIT=1b', 'bodyLimit', 1],
    ['BODY_LIMIT=255mb', 'bodyLimit', 267_386_880],
    ['BODY_LIMIT=267386880', 'bodyLimit', 267_386_880],
    ['BODY_LIMIT=1.7b', 'bodyLimit', 1],
    ['BODY_LIMIT=17', 'bodyLimit', 17],
    ['BODY_LIMIT=16b', 'bodyLimit', 16],
    ['BODY_LIMIT=1KB', 'bodyLimit', 1_024],
    ['BODY_LIMIT=0.5mb', 'bodyLimit', 524_288],
    ['REQUEST_TIMEOUT=250ms', 'requestTimeout', 250],
    ['REQUEST_TIMEOUT=60m', 'requestTimeout', 3_600_000],
  ])('such as %s is read', (text, name, value) => {
    const [variable = '', setting] = text.split('=');

    expect(parseConfiguration({ [variable]: setting })[name]).toEqual(value);
  });

  it.each<[text: string, name: keyof Configuration, values: readonly string[]]>([
    ['ACCESS_TOKENS=a-b._~+/==, c', 'accessTokens', ['a-b._~+/==', 'c']],
    ['TRUST_PROXY=loopback,linklocal,uniquelocal', 'trustProxy', ['loopback', 'linklocal', 'uniquelocal']],
    [
      'TRUST_PROXY=10.0.0.1/32, ::1/128,fd00::/8,0.0.0.0/1',
      'trustProxy',
      ['10.0.0.1/32', '::1/128', 'fd00::/8', '0.0.0.0/1'],
    ],
    [
      'CORS_ORIGINS=https://a.example,http://localhost:8080',
      'corsOrigins',
      ['https://a.example', 'http://localhost:8080'],
    ],
  ])('such as %s is read as a list', (text, name, values) => {
    const [, variable = '', setting] = /^(\w+)=(.+)$/.exec(text) ?? [];

    expect(parseConfiguration({ [variable]: setting })[name]).toEqual(values);
  });

  it('of a timeout reaches the store', () => {
    expect(parseConfiguration({ STORE_TIMEOUT: '1s', DATABASE_START_TIMEOUT: '2s' }).store).toEqual({
      timeout: 1_000,
      startTimeout: 2_000,
    });
  });

  it.each<[variables: Readonly<Record<string, string>>, file: string | undefined]>([
    [{ DATABASE_URL: 'sqlite:data/plants.db' }, 'data/tokens'],
    [{ DATABASE_URL: 'sqlite:/srv/plants.db' }, '/srv/tokens'],
    [{ DATABASE_URL: 'sqlite:plants.db' }, 'tokens'],
    [{ DATABASE_URL: 'sqlite::memory:' }, 'data/tokens'],
    [{ DATABASE_URL: 'postgres://user@localhost/plants' }, 'data/tokens'],
    [{ ACCESS_TOKENS_FILE: 'named' }, 'named'],
    [{ ACCESS_TOKENS: 'one', ACCESS_TOKENS_FILE: 'named' }, 'named'],
    [{ ACCESS_TOKENS: 'one' }, undefined],
  ])('decides about the token file: %j, %s', (variables, file) => {
    expect(parseConfiguration(variables).tokenFile).toBe(file);
  });
});
