import { DEFAULT_SCOPE, isScope } from '../auth/bearer-auth-options.js';
import { DEFAULT_JWT_TYPE, JWT_TYPES } from '../auth/jwt-settings.js';
import { isBearerToken } from '../auth/token-verifier.js';
import { DEFAULT_LIMITS } from '../http/server-limits.js';
import { BODY_LIMIT_RULE, DEFAULT_BODY_LIMIT, parseBodyLimit } from '../plants/body-limit.js';
import { DATABASE_URL_RULE, parseDatabaseUrl, sqliteUrl } from '../storage/database-url.js';
import { DATABASE_DEFAULTS } from '../storage/engines.js';
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
export interface Setting {
  /** The value if the variable is not set. */
  readonly default: unknown;
  /** Returns undefined if the text breaks the rule. */
  readonly read: (text: string) => unknown;
  /** Completes the message "PORT must be …", with an example. */
  readonly rule: string;
  /** True if a variable with the ending _FILE may name a file with the text, to keep a password out of the environment. */
  readonly mayBeInFile?: true;
}

const HOST_RULE = 'a host name or an IP address without a port or zone, for example 0.0.0.0';
const PORT_RULE = 'a number from 0 to 65535, for example 8080';

const time = (byDefault: number) => ({
  default: byDefault,
  read: readTime,
  rule: 'a time from 1ms to 60m, for example 30s',
});

const path = (example: string) => ({
  default: undefined,
  read: readPath,
  rule: `the path of a file, for example ${example}`,
});

const oneOf = <const Word extends string>(words: readonly Word[], byDefault: Word, example: Word) => ({
  default: byDefault,
  read: (text: string) => readWord(text, words),
  rule: `one of ${words.join(', ')}, for example ${example}`,
});

const listOf = (isValue: (value: string) => boolean, rule: string) => ({
  default: [],
  read: (text: string) => readList(text, isValue),
  rule,
});

/**
 * All settings. The variable of `databaseUrl` is DATABASE_URL, and so on; docs/configuration.md has the meanings. Times are
 * in milliseconds, sizes in bytes.
 */
export const SETTINGS = {
  host: { default: '127.0.0.1', read: readHost, rule: HOST_RULE },
  port: { default: 3000, read: readPort, rule: PORT_RULE },
  basePath: { default: '', read: readBasePath, rule: 'a path that begins with a slash, for example /v1' },
  databaseUrl: {
    default: sqliteUrl('data/plants.db'),
    read: parseDatabaseUrl,
    rule: DATABASE_URL_RULE,
    mayBeInFile: true,
  },
  databaseStartTimeout: time(DATABASE_DEFAULTS.startTimeout),
  storeTimeout: time(DATABASE_DEFAULTS.timeout),
  accessTokens: listOf(
    isBearerToken,
    'tokens of letters, digits and -._~+/ separated by commas, for example first-token,second-token',
  ),
  accessTokensFile: path('/etc/plants/tokens'),
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
  jwtType: oneOf(JWT_TYPES, DEFAULT_JWT_TYPE, 'at+jwt'),
  requiredScope: {
    default: DEFAULT_SCOPE,
    read: (text) => (isScope(text) ? text : undefined),
    rule: 'a scope, which has no spaces and no quotation marks, for example plants:write',
  },
  bodyLimit: { default: DEFAULT_BODY_LIMIT, read: parseBodyLimit, rule: BODY_LIMIT_RULE },
  requestTimeout: time(DEFAULT_LIMITS.request),
  keepAliveTimeout: time(DEFAULT_LIMITS.keepAlive),
  maxConnections: {
    default: DEFAULT_LIMITS.connections,
    read: (text) => readNumber(text, 1, 1_000_000),
    rule: 'a number from 1 to 1000000, for example 20000',
  },
  shutdownTimeout: time(10_000),
  logLevel: oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace'], 'info', 'warn'),
  logRequests: oneOf(['all', 'failed'], 'all', 'failed'),
  managementHost: { default: '127.0.0.1', read: readHost, rule: HOST_RULE },
  managementPort: {
    default: 3001,
    read: (text) => (text === 'off' ? text : readPort(text)),
    rule: `off, or ${PORT_RULE}`,
  },
  managementAllowedHosts: listOf(
    isHostName,
    'host names without ports, separated by commas, for example plant-store,plant-store.monitoring.svc',
  ),
  tlsCertFile: path('/etc/plants/tls.crt'),
  tlsKeyFile: path('/etc/plants/tls.key'),
  trustProxy: listOf(
    isNetwork,
    'addresses or networks separated by commas, but not /0, which has all clients, for example 127.0.0.1,10.0.0.0/8',
  ),
  corsOrigins: listOf(isOrigin, 'origins without a path, separated by commas, for example https://plants.example'),
} as const satisfies Record<string, Setting>;

/** The values of all settings, such as `port: number` and `managementPort: number | 'off'`. */
export type Settings = {
  readonly [Name in keyof typeof SETTINGS]:
    (typeof SETTINGS)[Name]['default'] | Exclude<ReturnType<(typeof SETTINGS)[Name]['read']>, undefined>;
};
