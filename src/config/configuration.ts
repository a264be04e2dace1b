import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseEnv } from 'node:util';
import bytes from 'bytes';
import { isBearerToken } from '../auth/bearer-token.js';
import { isDatabaseUrl, sqliteFile } from '../storage/open-repository.js';
import type { ServerOptions } from '../storage/postgres-engine.js';

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
  /** See `readTokenFile`; undefined where nothing names one. */
  readonly accessTokensFile: string | undefined;
  /** Where the first start leaves a token, when nothing else is configured: beside the data. */
  readonly firstTokenFile: string;
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
  /** What only a database server takes. */
  readonly databaseServer: ServerOptions;
  /** Milliseconds that a plant may wait for the store. */
  readonly storeTimeout: number;
  /** Milliseconds for the last answers, after the signal to stop. */
  readonly shutdownTimeout: number;
  readonly logLevel: LogLevel;
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
  const databaseUrl = read(
    'DATABASE_URL',
    'sqlite:data/plants.db',
    (text) => (isDatabaseUrl(text) ? text : undefined),
    'a URL that begins with sqlite: or postgres://, for example sqlite:data/plants.db or postgres://user@localhost/plants',
  );
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
    bodyLimit: read('BODY_LIMIT', 1_048_576, parseSize, 'a size from 1b to 256mb, for example 512kb'),
    limits: {
      request: read('REQUEST_TIMEOUT', 30_000, parseDuration, DURATION),
      keepAlive: read('KEEP_ALIVE_TIMEOUT', 72_000, parseDuration, DURATION),
      connections: read('MAX_CONNECTIONS', 10_000, parseCount, 'a number from 1 to 1000000, for example 20000'),
    },
    databaseServer: {
      startTimeout: read('DATABASE_START_TIMEOUT', 30_000, parseDuration, DURATION),
      poolSize: read('DATABASE_POOL_SIZE', 4, parsePoolSize, 'a number from 1 to 100, for example 8'),
    },
    storeTimeout: read('STORE_TIMEOUT', 5_000, parseDuration, DURATION),
    shutdownTimeout: read('SHUTDOWN_TIMEOUT', 10_000, parseDuration, DURATION),
    logLevel: read(
      'LOG_LEVEL',
      'info',
      (text) => LOG_LEVELS.find((level) => level === text),
      `one of ${LOG_LEVELS.join(', ')}, for example warn`,
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

function parsePort(text: string): number | undefined {
  return /^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined;
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

function parseSize(text: string): number | undefined {
  const size = /^\d+(?:\.\d+)?(?:b|kb|mb)?$/i.test(text) ? bytes.parse(text) : null;
  return size !== null && size >= 1 && size <= 268_435_456 ? size : undefined;
}
