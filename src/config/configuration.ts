import { fstatSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual, parseEnv } from 'node:util';
import { DEFAULT_SCOPE, isScope } from '../auth/bearer-auth-options.js';
import { isBearerToken } from '../auth/bearer-token.js';
import { DEFAULT_JWT_TYPE, isHttpsOrLoopback, JWT_TYPES, withoutQuery } from '../auth/jwt-settings.js';
import { DEFAULT_LIMITS } from '../http/server-limits.js';
import { BODY_LIMIT_RULE, DEFAULT_BODY_LIMIT, parseBodyLimit } from '../plants/body-limit.js';
import { DATABASE_DEFAULTS } from '../storage/database-options.js';
import { databaseName, isDatabaseUrl } from '../storage/engines.js';
import { sqliteFile } from '../storage/sqlite-engine.js';
import {
  integer,
  isNetwork,
  isOrigin,
  listOf,
  matching,
  oneOf,
  parseBasePath,
  parseDuration,
  type Parser,
  satisfying,
} from './parsers.js';

/** An environment variable, its default, and the rule for its value, which the message about a wrong value states. */
interface Setting<Value> {
  readonly variable: string;
  readonly fallback: Value;
  readonly parse: Parser<Value>;
  readonly rule: string;
}

function setting<Value, Default extends Value | undefined>(
  variable: string,
  fallback: Default,
  parse: Parser<Value>,
  rule: string,
): Setting<Value | Default> {
  return { variable, fallback, parse, rule };
}

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const;
const LOGGED_REQUESTS = ['all', 'failed'] as const;
const HOST_NAME = [matching(/^[\w.:-]+$/), 'a host name or an IP address, for example 0.0.0.0'] as const;
const MAX_WORKERS = 64;

const DURATION = [parseDuration, 'a time from 1ms to 60m, for example 30s'] as const;

function numberFrom(least: number, greatest: number, example: number): [Parser<number>, rule: string] {
  return [integer(least, greatest), `a number from ${least} to ${greatest}, for example ${example}`];
}

function offOr<Off>(off: Off, [parse, rule]: [Parser<number>, string]): [Parser<number | Off>, rule: string] {
  return [(text) => (text === 'off' ? off : parse(text)), `off, or ${rule}`];
}

function orAuto(choose: () => number, [parse, rule]: [Parser<number>, string]): [Parser<number>, rule: string] {
  return [(text) => (text === 'auto' ? choose() : parse(text)), `auto, or ${rule}`];
}

function pathOf(example: string): [Parser<string>, rule: string] {
  return [matching(/./), `the path of a file, for example ${example}`];
}

const DATABASE_URL = [
  satisfying(isDatabaseUrl),
  'a URL that begins with sqlite: or postgres://, where user and password are percent-encoded (p@ss is p%40ss) and ' +
    'sslmode is disable, require, verify-ca or verify-full, for example sqlite:data/plants.db or postgres://user@localhost/plants',
] as const;

/** Everything that an operator can set. Times are in milliseconds, sizes in bytes. */
const SETTINGS = {
  host: setting('HOST', '127.0.0.1', ...HOST_NAME),
  /** 0 takes any free port. */
  port: setting('PORT', 3000, ...numberFrom(0, 65_535, 8080)),
  /** Processes that serve the public port; 1 is this process itself. */
  workers: setting(
    'WORKERS',
    1,
    ...orAuto(() => Math.min(availableParallelism(), MAX_WORKERS), numberFrom(1, MAX_WORKERS, 4)),
  ),
  basePath: setting('BASE_PATH', '', parseBasePath, 'a path that begins with a slash, for example /v1'),
  databaseUrlFile: setting('DATABASE_URL_FILE', undefined, ...pathOf('/run/secrets/database-url')),
  databaseUrl: setting('DATABASE_URL', 'sqlite:data/plants.db', ...DATABASE_URL),
  /** The second store of the commands that use two. */
  otherDatabaseUrlFile: setting('OTHER_DATABASE_URL_FILE', undefined, ...pathOf('/run/secrets/other-database-url')),
  otherDatabaseUrl: setting('OTHER_DATABASE_URL', undefined, ...DATABASE_URL),
  databaseStartTimeout: setting('DATABASE_START_TIMEOUT', DATABASE_DEFAULTS.startTimeout, ...DURATION),
  storeTimeout: setting('STORE_TIMEOUT', DATABASE_DEFAULTS.timeout, ...DURATION),
  /** In clear text. */
  accessTokens: setting(
    'ACCESS_TOKENS',
    [],
    listOf(isBearerToken),
    'tokens of letters, digits and -._~+/ separated by commas, for example first-token,second-token',
  ),
  accessTokensFile: setting('ACCESS_TOKENS_FILE', undefined, ...pathOf('/etc/plants/tokens')),
  /** See `JwtSettings` for this and the next three. */
  jwtIssuer: setting(
    'JWT_ISSUER',
    undefined,
    satisfying(isSecureUrl),
    'the https URL that tokens have in iss, for example https://login.example.com',
  ),
  jwtAudience: setting(
    'JWT_AUDIENCE',
    undefined,
    matching(/^\S+$/),
    'the value that tokens for this service have in aud, for example https://plants.example.com',
  ),
  jwtJwksUrl: setting(
    'JWT_JWKS_URL',
    undefined,
    satisfying(isSecureUrl),
    'the https URL of a JWK Set, for example https://login.example.com/jwks',
  ),
  jwtType: setting(
    'JWT_TYPE',
    DEFAULT_JWT_TYPE,
    oneOf(JWT_TYPES),
    `one of ${JWT_TYPES.join(', ')}, for example at+jwt`,
  ),
  requiredScope: setting(
    'REQUIRED_SCOPE',
    DEFAULT_SCOPE,
    satisfying(isScope),
    'a scope, which has no spaces and no quotation marks, for example plants:write',
  ),
  bodyLimit: setting('BODY_LIMIT', DEFAULT_BODY_LIMIT, parseBodyLimit, BODY_LIMIT_RULE),
  requestTimeout: setting('REQUEST_TIMEOUT', DEFAULT_LIMITS.request, ...DURATION),
  keepAliveTimeout: setting('KEEP_ALIVE_TIMEOUT', DEFAULT_LIMITS.keepAlive, ...DURATION),
  maxConnections: setting('MAX_CONNECTIONS', DEFAULT_LIMITS.connections, ...numberFrom(1, 1_000_000, 20_000)),
  /** For requests in flight at the signal to stop. */
  shutdownTimeout: setting('SHUTDOWN_TIMEOUT', 10_000, ...DURATION),
  /** Minimum severity to log. */
  logLevel: setting('LOG_LEVEL', 'info', oneOf(LOG_LEVELS), `one of ${LOG_LEVELS.join(', ')}, for example warn`),
  /** Requests to log: all, or those with an error. */
  logRequests: setting('LOG_REQUESTS', 'all', oneOf(LOGGED_REQUESTS), 'all or failed, for example failed'),
  managementHost: setting('MANAGEMENT_HOST', '127.0.0.1', ...HOST_NAME),
  managementPort: setting('MANAGEMENT_PORT', 3001, ...offOr('off' as const, numberFrom(0, 65_535, 8081))),
  /** Besides its own address, `localhost` and all IP addresses. */
  managementAllowedHosts: setting(
    'MANAGEMENT_ALLOWED_HOSTS',
    [],
    listOf((text) => /^[\w-]+(?:\.[\w-]+)*$/.test(text)),
    'host names without ports, separated by commas, for example plant-store,plant-store.monitoring.svc',
  ),
  tlsCertFile: setting('TLS_CERT_FILE', undefined, ...pathOf('/etc/plants/tls.crt')),
  tlsKeyFile: setting('TLS_KEY_FILE', undefined, ...pathOf('/etc/plants/tls.key')),
  trustProxy: setting(
    'TRUST_PROXY',
    [],
    listOf(isNetwork),
    'addresses or networks separated by commas, but not /0, which has all clients, for example 127.0.0.1,10.0.0.0/8',
  ),
  corsOrigins: setting(
    'CORS_ORIGINS',
    [],
    listOf(isOrigin),
    'origins without a path, separated by commas, for example https://plants.example',
  ),
};

/** Variables with passwords, whose value may be in a file that another variable names. */
const SECRETS: readonly Setting<unknown>[] = [SETTINGS.databaseUrl, SETTINGS.otherDatabaseUrl];

type Settings = {
  readonly [Name in keyof typeof SETTINGS]: (typeof SETTINGS)[Name] extends Setting<infer Value> ? Value : never;
};

export interface Configuration extends Settings {
  /** The token file that the first start creates beside the data if no tokens are configured. */
  readonly firstTokenFile: string;
  /** The database, and the settings that differ from their defaults, for the log: without secrets. */
  readonly summary: string;
}

type Variables = Readonly<Record<string, string | undefined>>;

/** A setting that cannot be used; the message is one line that names the variable. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
}

/**
 * Reads the configuration from the environment and, for variables that it lacks, from `.env` in the working directory.
 *
 * @throws {ConfigurationError} if `.env` cannot be read, or at the first variable that cannot be used
 */
export function loadConfiguration(): Configuration {
  const file = readEnvFile();
  const present = Object.entries(process.env).filter(([, value]) => value !== '');
  return parseConfiguration({ ...file, ...Object.fromEntries(present) });
}

/** @returns no variables if there is no such file */
function readEnvFile(): Variables {
  let bytes: Buffer;
  try {
    bytes = readFileSync('.env');
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return {};
    throw new ConfigurationError('.env cannot be read: it must be a file that this user may read', { cause });
  }
  try {
    // Without a byte order mark, which would become a part of the first variable's name.
    return parseEnv(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new ConfigurationError('.env must be UTF-8: save it in this encoding', { cause });
  }
}

/**
 * Reads the configuration from these variables; an empty one counts as absent.
 *
 * @throws {ConfigurationError} at the first variable that cannot be used
 */
export function parseConfiguration(variables: Variables): Configuration {
  const entries = Object.entries<Setting<unknown>>(SETTINGS).map(([name, definition]) => [
    name,
    read(definition, variables),
  ]);
  const settings = Object.fromEntries(entries) as Settings;
  const { tlsCertFile, tlsKeyFile, jwtIssuer, jwtAudience, jwtJwksUrl } = settings;
  if (tlsCertFile !== undefined && tlsKeyFile === undefined) throw missing(SETTINGS.tlsKeyFile, SETTINGS.tlsCertFile);
  if (tlsKeyFile !== undefined && tlsCertFile === undefined) throw missing(SETTINGS.tlsCertFile, SETTINGS.tlsKeyFile);
  if (jwtIssuer !== undefined && jwtAudience === undefined) throw missing(SETTINGS.jwtAudience, SETTINGS.jwtIssuer);
  if (jwtIssuer === undefined && (jwtAudience ?? jwtJwksUrl) !== undefined) {
    throw missing(SETTINGS.jwtIssuer, jwtAudience === undefined ? SETTINGS.jwtJwksUrl : SETTINGS.jwtAudience);
  }
  return {
    ...settings,
    firstTokenFile: besideData(settings.databaseUrl, 'tokens'),
    summary: summarize(settings, variables),
  };
}

function summarize(settings: Settings, variables: Variables): string {
  const changed = Object.entries<Setting<unknown>>(SETTINGS).flatMap(([name, { variable, fallback }]) => {
    const isChanged = !isDeepStrictEqual(settings[name as keyof Settings], fallback);
    // The service does not use the other store.
    if (!isChanged || variable === 'DATABASE_URL' || variable.startsWith('OTHER_')) return [];
    if (variable === 'ACCESS_TOKENS') return variable;
    const value = variables[variable] ?? '';
    return `${variable}=${variable === 'JWT_JWKS_URL' ? withoutQuery(new URL(value)) : value}`;
  });
  return [`DATABASE_URL=${databaseName(settings.databaseUrl)}`, ...changed].join(', ');
}

/** Returns whether systemd keeps what the process writes to stderr (`JOURNAL_STREAM` in systemd.exec(5)). */
export function isJournal(): boolean {
  const { dev, ino } = fstatSync(2, { bigint: true });
  return process.env.JOURNAL_STREAM === `${dev}:${ino}`;
}

/**
 * Returns the URL that an option of a command gives, or else that of OTHER_DATABASE_URL.
 *
 * @param option such as `--to`
 * @throws {ConfigurationError} if it is not the URL of a store
 */
export function otherDatabase(configuration: Configuration, option: string, url?: string): string | undefined {
  if (url === undefined) return configuration.otherDatabaseUrl;
  if (!isDatabaseUrl(url)) throw new ConfigurationError(`${option} must be ${SETTINGS.otherDatabaseUrl.rule}`);
  return url;
}

function read<Value>(definition: Setting<Value>, variables: Variables): Value {
  const { variable, fallback, parse } = definition;
  const fileVariable = `${variable}_FILE`;
  const text = variables[variable] ?? '';
  const file = SECRETS.includes(definition) ? (variables[fileVariable] ?? '') : '';
  if (text === '' && file === '') return fallback;
  if (text !== '' && file !== '') {
    throw new ConfigurationError(`${variable} and ${fileVariable} exclude each other: set one of them`);
  }
  const value = parse(file === '' ? text : readSecret(fileVariable, file));
  if (value !== undefined) return value;
  throw file === ''
    ? refusal(definition)
    : new ConfigurationError(`the text in ${fileVariable} must be ${definition.rule}`);
}

/** Reads a file of one line. */
function readSecret(variable: string, file: string): string {
  try {
    return readFileSync(file, 'utf8').trimEnd();
  } catch (cause) {
    throw new ConfigurationError(`${variable}: ${file} cannot be read: it must be a file that this user may read`, {
      cause,
    });
  }
}

/** Refuses a setting without another one that it needs. */
function missing({ variable, rule }: Setting<unknown>, present: Setting<unknown>): ConfigurationError {
  return new ConfigurationError(`${variable} must be set, because ${present.variable} is set: ${rule}`);
}

/** The message does not have the value, which may be a secret. */
function refusal({ variable, rule }: Setting<unknown>): ConfigurationError {
  return new ConfigurationError(`${variable} must be ${rule}`);
}

function besideData(databaseUrl: string, name: string): string {
  const file = sqliteFile(databaseUrl);
  return join(file === undefined || file === ':memory:' ? 'data' : dirname(file), name);
}

function isSecureUrl(text: string): boolean {
  // The parser would remove whitespace, but the issuer is compared as it is.
  if (!/^\S+$/.test(text) || !URL.canParse(text)) return false;
  const url = new URL(text);
  return isHttpsOrLoopback(url) && url.username === '' && url.password === '';
}
