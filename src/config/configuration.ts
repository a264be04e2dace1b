import { existsSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { dirname, join } from 'node:path';
import { parseEnv } from 'node:util';
import bytes from 'bytes';
import { isScope } from '../auth/bearer-auth-options.js';
import { isBearerToken } from '../auth/bearer-token.js';
import { isSecure, JWT_TYPES, type JwtType } from '../auth/jwt-settings.js';
import { DATABASE_DEFAULTS, type DatabaseOptions, isDatabaseUrl, sqliteFile } from '../storage/open-repository.js';

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const;

/** From the gravest to the least; a level includes those before it. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Everything that an operator can decide. */
export interface Configuration {
  readonly host: string;
  /** 0 … 65535, where 0 takes any free port. */
  readonly port: number;
  /** The path part of {base_url}: empty, or with a leading slash and without a trailing one. */
  readonly basePath: string;
  /** See `openRepository`. */
  readonly databaseUrl: string;
  /** Tokens in clear text. */
  readonly accessTokens: readonly string[];
  /** See `parseTokens` of auth/; undefined where nothing names one. */
  readonly accessTokensFile: string | undefined;
  /** Where the first start leaves a token, when nothing else is configured: beside the data. */
  readonly firstTokenFile: string;
  /** See `JwtSettings`, which these four make; undefined where no JWT counts. */
  readonly jwtIssuer: string | undefined;
  /** Given whenever there is an issuer. */
  readonly jwtAudience: string | undefined;
  readonly jwtJwksUrl: URL | undefined;
  readonly jwtType: JwtType;
  /** As many refused tokens of one address a minute are answered at once; Infinity for all. */
  readonly refusedTokensPerMinute: number;
  /** What a token that has scopes must have among them. */
  readonly requiredScope: string;
  /** Bytes, at least 1. */
  readonly bodyLimit: number;
  readonly limits: {
    /** Milliseconds for a request to arrive. */
    readonly request: number;
    /** Milliseconds between two requests of a connection. */
    readonly keepAlive: number;
    /** At the same time. */
    readonly connections: number;
  };
  readonly database: DatabaseOptions;
  /** Milliseconds for the last answers, after the signal to stop. */
  readonly shutdownTimeout: number;
  readonly logLevel: LogLevel;
  readonly managementHost: string;
  /** As `port`; undefined where there is to be no management listener. */
  readonly managementPort: number | undefined;
  /** Both of them or neither, see `readCertificate`. */
  readonly tlsCertFile: string | undefined;
  readonly tlsKeyFile: string | undefined;
  /** Addresses and networks of proxies, or names that proxy-addr has for some. */
  readonly trustProxy: readonly string[];
  /** As browsers write them. */
  readonly corsOrigins: readonly string[];
}

/** A setting that cannot be used; the message is one line that names the variable. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
}

/**
 * Reads the configuration from the environment, and from `.env` in the working directory what the environment lacks.
 *
 * @throws {ConfigurationError} at the first variable that cannot be used
 */
export function loadConfiguration(): Configuration {
  const file = existsSync('.env') ? parseEnv(readFileSync('.env', 'utf8')) : {};
  const present = Object.entries(process.env).filter(([, value]) => value !== '');
  return parseConfiguration({ ...file, ...Object.fromEntries(present) });
}

/**
 * Reads the configuration from these variables; an empty one counts as absent.
 *
 * @throws {ConfigurationError} at the first variable that cannot be used
 */
export function parseConfiguration(variables: Readonly<Record<string, string | undefined>>): Configuration {
  /** The value itself stays out of the complaint, it may be a secret. */
  const read = <T>(name: string, fallback: T, parse: (text: string) => T | undefined, rule: string): T => {
    const text = variables[name];
    if (text === undefined || text === '') return fallback;
    const value = parse(text);
    if (value === undefined) throw new ConfigurationError(`${name} must be ${rule}`);
    return value;
  };
  const tlsCertFile = read(
    'TLS_CERT_FILE',
    undefined,
    matching(/./),
    'the path of a file, for example /etc/plants/tls.crt',
  );
  const tlsKeyFile = read(
    'TLS_KEY_FILE',
    undefined,
    matching(/./),
    'the path of a file, for example /etc/plants/tls.key',
  );
  if ((tlsCertFile === undefined) !== (tlsKeyFile === undefined)) {
    throw new ConfigurationError('TLS_CERT_FILE and TLS_KEY_FILE must both be there, or neither of them');
  }
  const databaseUrl = read(
    'DATABASE_URL',
    'sqlite:data/plants.db',
    (text) => (isDatabaseUrl(text) ? text : undefined),
    'a URL that begins with sqlite: or postgres://, where sslmode is disable, require, verify-ca or verify-full, ' +
      'for example sqlite:data/plants.db or postgres://user@localhost/plants',
  );
  const jwtIssuer = read(
    'JWT_ISSUER',
    undefined,
    (text) => (parseSecureUrl(text) === undefined ? undefined : text),
    'the https URL that tokens have in iss, for example https://login.example.com',
  );
  const jwtAudience = read('JWT_AUDIENCE', undefined, matching(/^\S+$/), AUDIENCE);
  const jwtJwksUrl = read(
    'JWT_JWKS_URL',
    undefined,
    parseSecureUrl,
    'the https URL of a JWK Set, for example https://login.example.com/jwks',
  );
  if (jwtIssuer !== undefined && jwtAudience === undefined) {
    throw new ConfigurationError(`JWT_AUDIENCE must be ${AUDIENCE}`);
  }
  if (jwtIssuer === undefined && (jwtAudience ?? jwtJwksUrl) !== undefined) {
    throw new ConfigurationError(
      'JWT_ISSUER must be given beside JWT_AUDIENCE and JWT_JWKS_URL, for example https://login.example.com',
    );
  }
  return {
    host: read('HOST', '127.0.0.1', matching(/^[\w.:-]+$/), 'a host name or an IP address, for example 0.0.0.0'),
    port: read('PORT', 3000, parsePort, 'a number from 0 to 65535, for example 8080'),
    basePath: read('BASE_PATH', '', parsePath, 'a path that begins with a slash, for example /v1'),
    databaseUrl,
    accessTokens: read(
      'ACCESS_TOKENS',
      [],
      parseTokens,
      'tokens of letters, digits and -._~+/ with a comma between them, for example first-token,second-token',
    ),
    accessTokensFile: read(
      'ACCESS_TOKENS_FILE',
      undefined,
      matching(/./),
      'the path of a file, for example /etc/plants/tokens',
    ),
    firstTokenFile: firstTokenFileOf(databaseUrl),
    jwtIssuer,
    jwtAudience,
    jwtJwksUrl,
    jwtType: read(
      'JWT_TYPE',
      'at+jwt',
      (text) => JWT_TYPES.find((type) => type === text),
      `one of ${JWT_TYPES.join(', ')}, for example at+jwt`,
    ),
    requiredScope: read(
      'REQUIRED_SCOPE',
      'plants:write',
      (text) => (isScope(text) ? text : undefined),
      'a scope, which has no spaces and no quotation marks, for example plants:write',
    ),
    refusedTokensPerMinute: read(
      'REFUSED_TOKENS_PER_MINUTE',
      60,
      (text) => (text === 'off' ? Infinity : parseCount(text)),
      'off, or a number from 1 to 1000000, for example 60',
    ),
    bodyLimit: read('BODY_LIMIT', 1_048_576, parseSize, 'a size from 1b to 256mb, for example 512kb'),
    limits: {
      request: read('REQUEST_TIMEOUT', 30_000, parseDuration, DURATION),
      keepAlive: read('KEEP_ALIVE_TIMEOUT', 72_000, parseDuration, DURATION),
      connections: read('MAX_CONNECTIONS', 10_000, parseCount, 'a number from 1 to 1000000, for example 20000'),
    },
    database: {
      timeout: read('STORE_TIMEOUT', DATABASE_DEFAULTS.timeout, parseDuration, DURATION),
      startTimeout: read('DATABASE_START_TIMEOUT', DATABASE_DEFAULTS.startTimeout, parseDuration, DURATION),
      poolSize: read(
        'DATABASE_POOL_SIZE',
        DATABASE_DEFAULTS.poolSize,
        parsePoolSize,
        'a number from 1 to 100, for example 8',
      ),
    },
    shutdownTimeout: read('SHUTDOWN_TIMEOUT', 10_000, parseDuration, DURATION),
    logLevel: read(
      'LOG_LEVEL',
      'info',
      (text) => LOG_LEVELS.find((level) => level === text),
      `one of ${LOG_LEVELS.join(', ')}, for example warn`,
    ),
    managementHost: read(
      'MANAGEMENT_HOST',
      '127.0.0.1',
      matching(/^[\w.:-]+$/),
      'a host name or an IP address, for example 0.0.0.0',
    ),
    managementPort: read<{ readonly port: number | undefined }>(
      'MANAGEMENT_PORT',
      { port: 3001 },
      parseManagementPort,
      'a number from 0 to 65535, or off, for example 8081',
    ).port,
    tlsCertFile,
    tlsKeyFile,
    trustProxy: read(
      'TRUST_PROXY',
      [],
      parseProxies,
      'addresses or networks with a comma between them, for example 127.0.0.1,10.0.0.0/8',
    ),
    corsOrigins: read(
      'CORS_ORIGINS',
      [],
      parseOrigins,
      'origins without a path, with a comma between them, for example https://plants.example',
    ),
  };
}

function firstTokenFileOf(databaseUrl: string): string {
  const file = sqliteFile(databaseUrl);
  return join(file === undefined || file === ':memory:' ? 'data' : dirname(file), 'tokens');
}

function matching(pattern: RegExp) {
  return (text: string) => (pattern.test(text) ? text : undefined);
}

const AUDIENCE = 'what tokens for this service have in aud, for example https://plants.example.com';

/** A URL whose answers nobody on the way can forge. */
function parseSecureUrl(text: string): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url !== undefined && isSecure(url) && url.username === '' && url.password === '' ? url : undefined;
}

function parsePort(text: string): number | undefined {
  return /^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined;
}

function parseManagementPort(text: string): { readonly port: number | undefined } | undefined {
  if (text === 'off') return { port: undefined };
  const port = parsePort(text);
  return port === undefined ? undefined : { port };
}

/** Milliseconds in a unit. */
const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000 };

const DURATION = 'a time from 1ms to 60m, for example 30s';

function parseDuration(text: string): number | undefined {
  const [, count, unit = ''] = /^(\d{1,7})(ms|s|m)$/.exec(text) ?? [];
  const duration = Number(count) * (UNITS[unit] ?? 0);
  return duration >= 1 && duration <= 3_600_000 ? duration : undefined;
}

function parseCount(text: string): number | undefined {
  return /^[1-9]\d{0,6}$/.test(text) && Number(text) <= 1_000_000 ? Number(text) : undefined;
}

function parsePoolSize(text: string): number | undefined {
  const size = parseCount(text);
  return size !== undefined && size <= 100 ? size : undefined;
}

function parsePath(text: string): string | undefined {
  // Clients resolve the segments . and .. themselves, so that nobody could ever send them.
  return /^(?:\/(?!\.{1,2}(?:\/|$))[\w.~-]+)*\/?$/.test(text) ? text.replace(/\/$/, '') : undefined;
}

function parseTokens(text: string): readonly string[] | undefined {
  const tokens = text.split(',').map((token) => token.trim());
  return tokens.every(isBearerToken) ? tokens : undefined;
}

function parseProxies(text: string): readonly string[] | undefined {
  const networks = text.split(',').map((network) => network.trim());
  return networks.every(isNetwork) ? networks : undefined;
}

/** An address, one and the length of its prefix (RFC 4632 §3.1), or a name that proxy-addr has for networks. */
function isNetwork(text: string): boolean {
  if (/^(?:loopback|linklocal|uniquelocal)$/.test(text)) return true;
  const [, address = '', prefix = '0'] = /^([\da-fA-F.:]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  return isIP(address) !== 0 && Number(prefix) <= (isIP(address) === 4 ? 32 : 128);
}

function parseOrigins(text: string): readonly string[] | undefined {
  const origins = text.split(',').map((origin) => origin.trim());
  return origins.every((origin) => URL.canParse(origin) && new URL(origin).origin === origin) ? origins : undefined;
}

function parseSize(text: string): number | undefined {
  const size = /^\d+(?:\.\d+)?(?:b|kb|mb)?$/i.test(text) ? bytes.parse(text) : null;
  return size !== null && size >= 1 && size <= 268_435_456 ? size : undefined;
}
