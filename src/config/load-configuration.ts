import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import { explainReadError } from '../files/file-errors.js';
import { readRegularFile } from '../files/regular-file.js';
import { badUsage, namingVariable } from '../operator-error.js';
import { isHttpsOrLoopback } from '../loopback-host.js';
import { SSL_MODE_RULE } from '../storage/database-url.js';
import { Configuration } from './configuration.js';

/** Texts of variables, by their names. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** Pairs of a setting and another setting that it needs. */
const NEEDS = [
  ['tlsCertFile', 'tlsKeyFile'],
  ['tlsKeyFile', 'tlsCertFile'],
  ['jwtIssuer', 'jwtAudience'],
  ['jwtAudience', 'jwtIssuer'],
  ['jwtJwksUrl', 'jwtIssuer'],
] as const;

/** The variables of the settings, and the one that names a file with the URL of the database. */
export const VARIABLES: readonly string[] = [...Object.keys(new Configuration()).map(variableOf), 'DATABASE_URL_FILE'];

/**
 * Reads the configuration from the environment and, for variables that it lacks, from `.env`.
 *
 * @throws {OperatorError} with a line for each variable that cannot be used
 */
export function loadConfiguration(): Configuration {
  return parseConfiguration(readVariables());
}

/** Returns the variables of the environment and, where it lacks one, of `.env`. An empty variable counts as absent. */
export function readVariables(): Variables {
  const environment = withoutEmpty(process.env);
  // Each of the two replaces the other one in `.env`.
  const namesDatabase = (environment.DATABASE_URL ?? environment.DATABASE_URL_FILE) !== undefined;
  const replaced = namesDatabase ? { DATABASE_URL: undefined, DATABASE_URL_FILE: undefined } : {};
  return { ...withoutEmpty(readEnvFile()), ...replaced, ...environment };
}

/**
 * Reads `.env` of the working directory, if it exists. With `node --env-file`, it is not read: Node has read the other file.
 *
 * @throws {OperatorError} if it cannot be read
 */
export function readEnvFile(): Variables {
  if (process.execArgv.some((argument) => argument.startsWith('--env-file'))) return {};
  try {
    // Node takes a byte order mark for a part of a name and, in version 20, loses the variable behind a line of blanks.
    return parseEnv(readFileSync('.env', 'utf8').replace(/^\s+/gm, ''));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw explainReadError('.env', error);
  }
}

/** @throws {OperatorError} with a line for each variable that cannot be used */
export function parseConfiguration(given: Variables): Configuration {
  const variables = readDatabaseUrlFile(withoutEmpty(given));
  const names = Object.keys(new Configuration()).filter((name) => variables[variableOf(name)] !== undefined);
  const texts = names.map((name) => [name, variables[variableOf(name)] ?? ''] as const);
  assertNoFaults(texts.filter(isQuoted).map(([name]) => `${variableOf(name)} ${QUOTED}`));
  const configuration = plainToInstance(Configuration, Object.fromEntries(texts));
  const errors = validateSync(configuration, { skipUndefinedProperties: true });
  // The rules of a setting share one message.
  assertNoFaults(
    errors.map(({ property, constraints }) => `${variableOf(property)} ${Object.values(constraints ?? {})[0]}`),
  );
  assertNoFaults(conflictsIn(configuration));
  return configuration;
}

/** Returns the name of a setting's variable, such as DATABASE_URL for databaseUrl. */
function variableOf(name: string): string {
  return name.replace(/[A-Z]/g, '_$&').toUpperCase();
}

function withoutEmpty(variables: Variables): Variables {
  return Object.fromEntries(Object.entries(variables).filter(([, text]) => text !== ''));
}

/** Reads the URL of the database from the file that DATABASE_URL_FILE names, to keep a password out of the environment. */
function readDatabaseUrlFile(variables: Variables): Variables {
  const { DATABASE_URL, DATABASE_URL_FILE: file } = variables;
  if (file === undefined) return variables;
  if (DATABASE_URL !== undefined) {
    throw badUsage('DATABASE_URL and DATABASE_URL_FILE exclude each other: set one of them');
  }
  const content = namingVariable('DATABASE_URL_FILE', () => readRegularFile(file, 'secret'));
  return { ...variables, DATABASE_URL: content.toString('utf8').trimEnd() };
}

const QUOTED =
  'begins with a quotation mark, which Compose, Docker or systemd has left there: remove it, and the one at the end';

/** Returns whether a text begins with a quotation mark, as the name of a file alone may. */
function isQuoted([name, text]: readonly [name: string, text: string]): boolean {
  return /^["']/.test(text) && !name.endsWith('File');
}

function assertNoFaults(faults: readonly string[]): void {
  if (faults.length > 0) throw badUsage(faults.join('\n'));
}

/** Returns what is wrong with settings that depend on each other. */
function conflictsIn(configuration: Configuration): string[] {
  const faults = NEEDS.filter(
    ([name, other]) => configuration[name] !== undefined && configuration[other] === undefined,
  ).map(([name, other]) => `${variableOf(other)} must be set, because ${variableOf(name)} is set`);
  const { databaseUrl, jwtIssuer, jwtJwksUrl, jwtAllowHttp } = configuration;
  for (const [name, url] of Object.entries({ jwtIssuer, jwtJwksUrl })) {
    if (url === undefined || jwtAllowHttp === 'on' || isHttpsOrLoopback(new URL(url))) continue;
    faults.push(`${variableOf(name)} must be https; if you trust the network to it, set JWT_ALLOW_HTTP=on`);
  }
  if (databaseUrl.engine === 'postgres' && databaseUrl.lacksSslMode) {
    faults.push(`DATABASE_URL must have ${SSL_MODE_RULE}`);
  }
  return faults;
}
