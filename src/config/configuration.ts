import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { DEFAULT_SCOPE, isScope } from '../auth/bearer-auth-options.js';
import { DEFAULT_JWT_TYPE, JWT_TYPES } from '../auth/jwt-settings.js';
import { isBearerToken } from '../auth/token-verifier.js';
import { badUsage, OperatorError } from '../operator-error.js';
import { readRegularFile } from '../files/regular-file.js';
import { DEFAULT_LIMITS } from '../http/server-limits.js';
import { BODY_LIMIT_RULE, DEFAULT_BODY_LIMIT, parseBodyLimit } from '../plants/body-limit.js';
import {
  DATABASE_URL_RULE,
  type DatabaseUrl,
  isInMemory,
  parseDatabaseUrl,
  SSL_MODE_RULE,
  sqliteUrl,
} from '../storage/database-url.js';
import { DATABASE_DEFAULTS, type DatabaseOptions } from '../storage/engines.js';
import { readEnvFile } from './env-file.js';
import {
  isHostName,
  isNetwork,
  isOrigin,
  readBasePath,
  readHost,
  readList,
  readNumber,
  readPath,
  readPort,
  readSecureUrl,
  readTime,
  readWord,
} from './rules.js';

/** A setting, and how the text of its variable becomes its value. */
interface Setting {
  /** The value if the variable is not set. */
  readonly default: unknown;
  /** Returns undefined if the text breaks the rule. */
  readonly read: (text: string) => unknown;
  /** Completes the message "PORT must be …", with an example. */
  readonly rule: string;
  /** True if a variable with the ending _FILE may name a file with the text, to keep a password out of the environment. */
  readonly mayBeInFile?: true;
}

const MAX_WORKERS = 64;
const HOST_RULE = 'a host name or an IP address without a port or zone, for example 0.0.0.0';
const PORT_RULE = 'a number from 0 to 65535, for example 8080';
const TIME_RULE = 'a time from 1ms to 60m, for example 30s';

/**
 * All settings. The variable of `databaseUrl` is DATABASE_URL, and so on; docs/configuration.md has the meanings. Times are
 * in milliseconds, sizes in bytes.
 */
const SETTINGS = {
  host: { default: '127.0.0.1', read: readHost, rule: HOST_RULE },
  port: { default: 3000, read: readPort, rule: PORT_RULE },
  workers: {
    default: 1,
    read: (text) =>
      text === 'auto' ? Math.min(availableParallelism(), MAX_WORKERS) : readNumber(text, 1, MAX_WORKERS),
    rule: `auto, or a number from 1 to ${MAX_WORKERS}, for example 4`,
  },
  basePath: { default: '', read: readBasePath, rule: 'a path that begins with a slash, for example /v1' },
  databaseUrl: {
    default: sqliteUrl('data/plants.db'),
    read: parseDatabaseUrl,
    rule: DATABASE_URL_RULE,
    mayBeInFile: true,
  },
  databaseStartTimeout: { default: DATABASE_DEFAULTS.startTimeout, read: readTime, rule: TIME_RULE },
  storeTimeout: { default: DATABASE_DEFAULTS.timeout, read: readTime, rule: TIME_RULE },
  accessTokens: {
    default: [],
    read: (text) => readList(text, isBearerToken),
    rule: 'tokens of letters, digits and -._~+/ separated by commas, for example first-token,second-token',
  },
  accessTokensFile: {
    default: undefined,
    read: readPath,
    rule: 'the path of a file, for example /etc/plants/tokens',
  },
  jwtIssuer: {
    default: undefined,
    read: readSecureUrl,
    rule: 'the https URL that tokens have in iss, for example https://login.example.com',
  },
  jwtAudience: {
    default: undefined,
    read: (text) => (/^\S+$/.test(text) ? text : undefined),
    rule: 'the value that tokens for this service have in aud, for example https://plants.example.com',
  },
  jwtJwksUrl: {
    default: undefined,
    read: readSecureUrl,
    rule: 'the https URL of a JWK Set, for example https://login.example.com/jwks',
  },
  jwtType: {
    default: DEFAULT_JWT_TYPE,
    read: (text) => readWord(text, JWT_TYPES),
    rule: `one of ${JWT_TYPES.join(', ')}, for example at+jwt`,
  },
  requiredScope: {
    default: DEFAULT_SCOPE,
    read: (text) => (isScope(text) ? text : undefined),
    rule: 'a scope, which has no spaces and no quotation marks, for example plants:write',
  },
  bodyLimit: { default: DEFAULT_BODY_LIMIT, read: parseBodyLimit, rule: BODY_LIMIT_RULE },
  requestTimeout: { default: DEFAULT_LIMITS.request, read: readTime, rule: TIME_RULE },
  keepAliveTimeout: { default: DEFAULT_LIMITS.keepAlive, read: readTime, rule: TIME_RULE },
  maxConnections: {
    default: DEFAULT_LIMITS.connections,
    read: (text) => readNumber(text, 1, 1_000_000),
    rule: 'a number from 1 to 1000000, for example 20000',
  },
  shutdownTimeout: { default: 10_000, read: readTime, rule: TIME_RULE },
  logLevel: {
    default: 'info',
    read: (text) => readWord(text, ['fatal', 'error', 'warn', 'info', 'debug', 'trace']),
    rule: 'one of fatal, error, warn, info, debug, trace, for example warn',
  },
  logRequests: {
    default: 'all',
    read: (text) => readWord(text, ['all', 'failed']),
    rule: 'one of all, failed, for example failed',
  },
  managementHost: { default: '127.0.0.1', read: readHost, rule: HOST_RULE },
  managementPort: {
    default: 3001,
    read: (text) => (text === 'off' ? text : readPort(text)),
    rule: `off, or ${PORT_RULE}`,
  },
  managementAllowedHosts: {
    default: [],
    read: (text) => readList(text, isHostName),
    rule: 'host names without ports, separated by commas, for example plant-store,plant-store.monitoring.svc',
  },
  tlsCertFile: { default: undefined, read: readPath, rule: 'the path of a file, for example /etc/plants/tls.crt' },
  tlsKeyFile: { default: undefined, read: readPath, rule: 'the path of a file, for example /etc/plants/tls.key' },
  trustProxy: {
    default: [],
    read: (text) => readList(text, isNetwork),
    rule: 'addresses or networks separated by commas, but not /0, which has all clients, for example 127.0.0.1,10.0.0.0/8',
  },
  corsOrigins: {
    default: [],
    read: (text) => readList(text, isOrigin),
    rule: 'origins without a path, separated by commas, for example https://plants.example',
  },
} as const satisfies Record<string, Setting>;

/** Pairs of a setting and another setting that it needs. */
const NEEDS = [
  ['tlsCertFile', 'tlsKeyFile'],
  ['tlsKeyFile', 'tlsCertFile'],
  ['jwtIssuer', 'jwtAudience'],
  ['jwtAudience', 'jwtIssuer'],
  ['jwtJwksUrl', 'jwtIssuer'],
] as const;

type Settings = {
  readonly [Name in keyof typeof SETTINGS]:
    (typeof SETTINGS)[Name]['default'] | Exclude<ReturnType<(typeof SETTINGS)[Name]['read']>, undefined>;
};

export interface Configuration extends Settings {
  /** The token file that the first start creates beside the data if no tokens are configured. */
  readonly firstTokenFile: string;
  /** The settings of a store beside its URL. */
  readonly store: Pick<DatabaseOptions, 'timeout' | 'startTimeout'>;
}

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Reads the configuration from the environment and, for settings that it lacks, from the file that ENV_FILE names or from
 * `.env` in the working directory.
 *
 * @throws {OperatorError} if this file cannot be used, or at the first variable that cannot be used
 */
export function loadConfiguration(): Configuration {
  const { ENV_FILE: file = '' } = process.env;
  const variables = file === '' ? readEnvFile() : forVariable('ENV_FILE', () => readEnvFile(file));
  return parseConfiguration(process.env, variables);
}

/**
 * Reads each setting from the first of these sources that has it.
 *
 * @throws {OperatorError} at the first variable that cannot be used
 */
export function parseConfiguration(...sources: readonly Variables[]): Configuration {
  const settings = readSettings(sources);
  assertConsistent(settings);
  return {
    ...settings,
    firstTokenFile: tokenFileBeside(settings.databaseUrl),
    store: { timeout: settings.storeTimeout, startTimeout: settings.databaseStartTimeout },
  };
}

function readSettings(sources: readonly Variables[]): Settings {
  const entries = Object.entries<Setting>(SETTINGS).map(([name, setting]) => [
    name,
    readSetting(variableOf(name), setting, sources),
  ]);
  return Object.fromEntries(entries) as Settings;
}

/** @throws {OperatorError} at the first settings that exclude each other, or of which one needs another */
function assertConsistent(settings: Settings): void {
  for (const [name, other] of NEEDS) {
    if (settings[name] === undefined || settings[other] !== undefined) continue;
    throw badUsage(`${variableOf(other)} must be set, because ${variableOf(name)} is set: ${SETTINGS[other].rule}`);
  }
  const { port, databaseUrl } = settings;
  if (port !== 0 && port === settings.managementPort && overlap(settings.host, settings.managementHost)) {
    throw badUsage(`MANAGEMENT_PORT and PORT are both ${port}: set one of them to another port`);
  }
  if (databaseUrl.engine === 'postgres' && databaseUrl.lacksSslMode)
    throw badUsage(`DATABASE_URL must have ${SSL_MODE_RULE}`);
  if (settings.workers > 1 && isInMemory(databaseUrl)) {
    throw badUsage('WORKERS must be 1 with a database in memory, which processes cannot share');
  }
  if (settings.workers > 1 && port === 0) {
    throw badUsage('PORT must not be 0 with WORKERS, which must all have the same port: set it to 3000, for example');
  }
  if (settings.workers > 1 && settings.managementPort === 0) {
    throw badUsage(
      'MANAGEMENT_PORT must not be 0 with WORKERS, which must know the port of the docs page: set it to 3001, for example',
    );
  }
}

/** Returns whether the system refuses to listen on one port of both hosts. */
function overlap(...hosts: readonly [string, string]): boolean {
  if (hosts[0] === hosts[1] || hosts.includes('::')) return true;
  return hosts.includes('0.0.0.0') && !hosts.some((host) => host.includes(':'));
}

/** Returns the name of a setting's variable, such as DATABASE_URL for databaseUrl. */
function variableOf(name: string): string {
  return name.replace(/[A-Z]/g, '_$&').toUpperCase();
}

/** Reads a setting from the first source that has its variable, or the variable that names its file. */
function readSetting(variable: string, setting: Setting, sources: readonly Variables[]): unknown {
  const fileVariable = `${variable}_FILE`;
  for (const source of sources) {
    // An empty variable counts as absent.
    const text = source[variable] ?? '';
    const file = setting.mayBeInFile === true ? (source[fileVariable] ?? '') : '';
    if (text !== '' && file !== '') {
      throw badUsage(`${variable} and ${fileVariable} exclude each other: set one of them`);
    }
    if (text !== '') return readText(text, variable, setting);
    if (file !== '') return readText(readTextFile(file, fileVariable), `the text in ${fileVariable}`, setting);
  }
  return setting.default;
}

function readTextFile(file: string, variable: string): string {
  const content = forVariable(variable, () => readRegularFile(file, 'secret'));
  return content.toString('utf8').trimEnd();
}

/** @param source where the text comes from, for the message */
function readText(text: string, source: string, { read, rule }: Setting): unknown {
  const value = read(text);
  // The message must not have the value, which may be a secret.
  if (value === undefined) throw badUsage(`${source} must be ${rule}`);
  return value;
}

/** Reads a file. If it cannot be used, the message begins with the variable that names it. */
export function forVariable<Result>(variable: string, read: () => Result): Result {
  try {
    return read();
  } catch (cause) {
    if (!(cause instanceof OperatorError)) throw cause;
    throw badUsage(`${variable}: ${cause.message}`, cause);
  }
}

function tokenFileBeside(url: DatabaseUrl): string {
  const directory = url.engine === 'sqlite' && url.file !== undefined ? dirname(url.file) : 'data';
  return join(directory, 'tokens');
}
