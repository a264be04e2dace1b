import { fstatSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { parseEnv } from 'node:util';
import { DEFAULT_SCOPE, isBearerToken, isScope } from '../auth/bearer-auth-options.js';
import { DEFAULT_JWT_TYPE, isHttpsOrLoopback, JWT_TYPES } from '../auth/jwt-settings.js';
import { badUsage } from '../contract/operator-error.js';
import { DEFAULT_LIMITS } from '../http/server-limits.js';
import { BODY_LIMIT_RULE, DEFAULT_BODY_LIMIT, parseBodyLimit } from '../plants/body-limit.js';
import { DATABASE_DEFAULTS as STORE, isDatabaseUrl } from '../storage/engines.js';
import { sqliteFile } from '../storage/engines.js';
import {
  BASE_PATH,
  DURATION,
  HOST_NAME,
  listOf,
  NETWORKS,
  numberFrom,
  oneOf,
  ORIGINS,
  pathOf,
  type Rule,
  satisfying,
} from './rules.js';

/** An environment variable with its default. */
interface Setting<Value> extends Rule<Value> {
  readonly variable: string;
  readonly fallback: Value;
  /** True if another variable, with the suffix `_FILE`, may name a file that has the value. */
  readonly isSecret?: boolean;
}

function setting<const Value>(definition: Setting<Value>): Setting<Value> {
  return definition;
}

/** Describes a setting without a default. */
function optional<Value>(definition: Omit<Setting<Value>, 'fallback'>): Setting<Value | undefined> {
  return { ...definition, fallback: undefined };
}

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const;
const LOGGED_REQUESTS = ['all', 'failed'] as const;
const MAX_WORKERS = 64;
const DEFAULT_DATABASE = 'sqlite:data/plants.db';

const PORT_NUMBER = numberFrom(0, 65_535, { example: 8080 });
const WORKER_COUNT = numberFrom(1, MAX_WORKERS, { example: 4 });
const DATABASE_URL: Rule<string> = {
  parse: satisfying(isDatabaseUrl),
  rule:
    'a URL that begins with sqlite: or postgres://, where user and password are percent-encoded (p@ss is p%40ss) and ' +
    'sslmode is disable, require, verify-ca or verify-full, for example sqlite:data/plants.db or postgres://user@localhost/plants',
};

/**
 * Everything that an operator can set, by the name of its variable in camelCase; docs/configuration.md has the meanings.
 * Times are in milliseconds, sizes in bytes.
 */
const SETTINGS = {
  host: setting({ variable: 'HOST', fallback: '127.0.0.1', ...HOST_NAME }),
  port: setting({ variable: 'PORT', fallback: 3000, ...PORT_NUMBER }),
  workers: setting({
    variable: 'WORKERS',
    fallback: 1,
    parse: (text) => (text === 'auto' ? Math.min(availableParallelism(), MAX_WORKERS) : WORKER_COUNT.parse(text)),
    rule: `auto, or ${WORKER_COUNT.rule}`,
  }),
  basePath: setting({ variable: 'BASE_PATH', fallback: '', ...BASE_PATH }),
  databaseUrl: setting({ variable: 'DATABASE_URL', fallback: DEFAULT_DATABASE, isSecret: true, ...DATABASE_URL }),
  otherDatabaseUrl: optional({ variable: 'OTHER_DATABASE_URL', isSecret: true, ...DATABASE_URL }),
  databaseStartTimeout: setting({ variable: 'DATABASE_START_TIMEOUT', fallback: STORE.startTimeout, ...DURATION }),
  storeTimeout: setting({ variable: 'STORE_TIMEOUT', fallback: STORE.timeout, ...DURATION }),
  accessTokens: setting({
    variable: 'ACCESS_TOKENS',
    fallback: [],
    parse: listOf(isBearerToken),
    rule: 'tokens of letters, digits and -._~+/ separated by commas, for example first-token,second-token',
  }),
  accessTokensFile: optional({ variable: 'ACCESS_TOKENS_FILE', ...pathOf('/etc/plants/tokens') }),
  jwtIssuer: optional({
    variable: 'JWT_ISSUER',
    parse: satisfying(isSecureUrl),
    rule: 'the https URL that tokens have in iss, for example https://login.example.com',
  }),
  jwtAudience: optional({
    variable: 'JWT_AUDIENCE',
    parse: satisfying((text) => /^\S+$/.test(text)),
    rule: 'the value that tokens for this service have in aud, for example https://plants.example.com',
  }),
  jwtJwksUrl: optional({
    variable: 'JWT_JWKS_URL',
    parse: satisfying(isSecureUrl),
    rule: 'the https URL of a JWK Set, for example https://login.example.com/jwks',
  }),
  jwtType: setting({ variable: 'JWT_TYPE', fallback: DEFAULT_JWT_TYPE, ...oneOf(JWT_TYPES, { example: 'at+jwt' }) }),
  requiredScope: setting({
    variable: 'REQUIRED_SCOPE',
    fallback: DEFAULT_SCOPE,
    parse: satisfying(isScope),
    rule: 'a scope, which has no spaces and no quotation marks, for example plants:write',
  }),
  bodyLimit: setting({
    variable: 'BODY_LIMIT',
    fallback: DEFAULT_BODY_LIMIT,
    parse: parseBodyLimit,
    rule: BODY_LIMIT_RULE,
  }),
  requestTimeout: setting({ variable: 'REQUEST_TIMEOUT', fallback: DEFAULT_LIMITS.request, ...DURATION }),
  keepAliveTimeout: setting({ variable: 'KEEP_ALIVE_TIMEOUT', fallback: DEFAULT_LIMITS.keepAlive, ...DURATION }),
  maxConnections: setting({
    variable: 'MAX_CONNECTIONS',
    fallback: DEFAULT_LIMITS.connections,
    ...numberFrom(1, 1_000_000, { example: 20_000 }),
  }),
  shutdownTimeout: setting({ variable: 'SHUTDOWN_TIMEOUT', fallback: 10_000, ...DURATION }),
  logLevel: setting({ variable: 'LOG_LEVEL', fallback: 'info', ...oneOf(LOG_LEVELS, { example: 'warn' }) }),
  logRequests: setting({ variable: 'LOG_REQUESTS', fallback: 'all', ...oneOf(LOGGED_REQUESTS, { example: 'failed' }) }),
  managementHost: setting({ variable: 'MANAGEMENT_HOST', fallback: '127.0.0.1', ...HOST_NAME }),
  managementPort: setting({
    variable: 'MANAGEMENT_PORT',
    fallback: 3001,
    parse: (text) => (text === 'off' ? text : PORT_NUMBER.parse(text)),
    rule: `off, or ${PORT_NUMBER.rule}`,
  }),
  managementAllowedHosts: setting({
    variable: 'MANAGEMENT_ALLOWED_HOSTS',
    fallback: [],
    parse: listOf((text) => /^[\w-]+(?:\.[\w-]+)*$/.test(text)),
    rule: 'host names without ports, separated by commas, for example plant-store,plant-store.monitoring.svc',
  }),
  tlsCertFile: optional({ variable: 'TLS_CERT_FILE', ...pathOf('/etc/plants/tls.crt') }),
  tlsKeyFile: optional({ variable: 'TLS_KEY_FILE', ...pathOf('/etc/plants/tls.key') }),
  trustProxy: setting({ variable: 'TRUST_PROXY', fallback: [], ...NETWORKS }),
  corsOrigins: setting({ variable: 'CORS_ORIGINS', fallback: [], ...ORIGINS }),
};

/** Settings, each with another one that it needs. */
const NEEDS = [
  ['tlsCertFile', 'tlsKeyFile'],
  ['tlsKeyFile', 'tlsCertFile'],
  ['jwtIssuer', 'jwtAudience'],
  ['jwtAudience', 'jwtIssuer'],
  ['jwtJwksUrl', 'jwtIssuer'],
] as const;

type Settings = {
  readonly [Name in keyof typeof SETTINGS]: (typeof SETTINGS)[Name] extends Setting<infer Value> ? Value : never;
};

export interface Configuration extends Settings {
  /** The token file that the first start creates beside the data if no tokens are configured. */
  readonly firstTokenFile: string;
  /** The settings of a store beside its URL. */
  readonly store: typeof STORE;
}

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Reads the configuration from the environment and, for variables that it lacks, from `.env` in the working directory.
 *
 * @param options variables that the options of a command set
 * @throws {OperatorError} if `.env` cannot be read, or at the first variable that cannot be used
 */
export function loadConfiguration(options: Variables = {}): Configuration {
  return parseConfiguration({ ...readEnvFile(), ...present(process.env), ...present(options) });
}

/** An empty variable counts as absent. */
function present(variables: Variables): Variables {
  return Object.fromEntries(Object.entries(variables).filter(([, value]) => value));
}

/** @returns no variables if there is no such file */
function readEnvFile(): Variables {
  try {
    // Without a byte order mark, which would become a part of the first variable's name.
    return parseEnv(new TextDecoder('utf-8', { fatal: true }).decode(readFileSync('.env')));
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return {};
    throw badUsage('.env must be a file in UTF-8 that this user may read', cause);
  }
}

/**
 * Reads the configuration from these variables; an empty one counts as absent.
 *
 * @throws {OperatorError} at the first variable that cannot be used
 */
export function parseConfiguration(variables: Variables): Configuration {
  const entries = Object.entries<Setting<unknown>>(SETTINGS).map(([name, definition]) => [
    name,
    read(definition, variables),
  ]);
  const settings = Object.fromEntries(entries) as Settings;
  for (const [name, other] of NEEDS) {
    if (settings[name] === undefined || settings[other] !== undefined) continue;
    const { variable, rule } = SETTINGS[other];
    throw badUsage(`${variable} must be set, because ${SETTINGS[name].variable} is set: ${rule}`);
  }
  const { port } = settings;
  if (port !== 0 && port === settings.managementPort && settings.host === settings.managementHost) {
    throw badUsage(`MANAGEMENT_PORT and PORT are both ${port}: set one of them to another port`);
  }
  if (settings.workers > 1 && sqliteFile(settings.databaseUrl) === ':memory:') {
    throw badUsage('WORKERS must be 1 with a database in memory, which processes cannot share');
  }
  return {
    ...settings,
    firstTokenFile: tokenFileBeside(settings.databaseUrl),
    store: { timeout: settings.storeTimeout, startTimeout: settings.databaseStartTimeout },
  };
}

/** Returns whether systemd keeps what the process writes to stderr (`JOURNAL_STREAM` in systemd.exec(5)). */
export function isJournal(): boolean {
  const { dev, ino } = fstatSync(2, { bigint: true });
  return process.env.JOURNAL_STREAM === `${dev}:${ino}`;
}

function read<Value>(
  { variable, fallback, parse, rule, isSecret = false }: Setting<Value>,
  variables: Variables,
): Value {
  const fileVariable = `${variable}_FILE`;
  const text = variables[variable] ?? '';
  const file = isSecret ? (variables[fileVariable] ?? '') : '';
  if (text === '' && file === '') return fallback;
  if (text !== '' && file !== '') {
    throw badUsage(`${variable} and ${fileVariable} exclude each other: set one of them`);
  }
  const value = parse(file === '' ? text : readSecret(fileVariable, file));
  if (value !== undefined) return value;
  // Without the value, which may be a secret.
  throw badUsage(`${file === '' ? variable : `the text in ${fileVariable}`} must be ${rule}`);
}

/** Reads a file of one line. */
function readSecret(variable: string, file: string): string {
  try {
    return readFileSync(file, 'utf8').trimEnd();
  } catch (cause) {
    const rule = 'the path of a file that this user may read, for example /run/secrets/database-url';
    throw badUsage(`${variable} must be ${rule}`, cause);
  }
}

function tokenFileBeside(databaseUrl: string): string {
  const file = sqliteFile(databaseUrl);
  return join(file === undefined || file === ':memory:' ? 'data' : dirname(file), 'tokens');
}

function isSecureUrl(text: string): boolean {
  // The parser would remove whitespace, but the issuer is compared as it is.
  if (!/^\S+$/.test(text) || !URL.canParse(text)) return false;
  const url = new URL(text);
  return isHttpsOrLoopback(url) && url.username === '' && url.password === '';
}
