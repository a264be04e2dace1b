import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import { explainReadError } from '../files/file-errors.js';
import { readRegularFile } from '../files/regular-file.js';
import { badUsage, namingVariable } from '../operator-error.js';
import { isHttpsOrLoopback } from '../loopback-host.js';
import { Configuration } from './configuration.js';

/** Texts of variables, by their names. */
type Variables = Record<string, string | undefined>;

/** Pairs of a setting and another setting that it needs. */
const NEEDS = [
  ['tlsCertFile', 'tlsKeyFile'],
  ['tlsKeyFile', 'tlsCertFile'],
  ['jwtIssuer', 'jwtAudience'],
  ['jwtAudience', 'jwtIssuer'],
  ['jwtJwksUrl', 'jwtIssuer'],
] as const;

/** Settings of older versions, and what to do instead. */
const REMOVED: Readonly<Record<string, string>> = {
  DATABASE_POOL_SIZE: 'the service opens as many connections as it needs, see "Size" in docs/scaling.md',
  MANAGEMENT_ALLOWED_HOSTS: 'the management listener answers every Host',
  OTHER_DATABASE_URL: 'move plants with export and import, and compare stores with verify',
  OTHER_DATABASE_URL_FILE: 'move plants with export and import, and compare stores with verify',
  REFUSED_TOKENS_PER_MINUTE: 'let a proxy limit the requests of an address',
  WORKERS: 'start several instances, see "Several processes on one machine" in docs/scaling.md',
};

const SETTINGS = Object.keys(new Configuration());

/** The variables of the settings, and the one that names a file with the URL of the database. */
export const VARIABLES: readonly string[] = [...SETTINGS.map(variableOf), 'DATABASE_URL_FILE'];

/**
 * Reads the configuration from the environment and, for variables that it lacks, from `.env`.
 *
 * @throws {OperatorError} with a line for each variable that cannot be used
 */
export function loadConfiguration(): Configuration {
  return parseConfiguration(readVariables());
}

/** Returns a line for each variable that is set, and has no effect any more. */
export function findRemovedSettings(): string[] {
  const variables = readVariables();
  return Object.entries(REMOVED)
    .filter(([name]) => variables[name] !== undefined)
    .map(([name, advice]) => `${name} has no effect any more: ${advice}`);
}

/** Returns the variables of the environment and, where it lacks one, of `.env`. An empty variable counts as absent. */
function readVariables(): Variables {
  const environment = withoutEmpty(process.env);
  const file = withoutEmpty(readEnvFile());
  if (environment.DATABASE_URL !== undefined || environment.DATABASE_URL_FILE !== undefined) {
    // Either of the two replaces both in `.env`.
    delete file.DATABASE_URL;
    delete file.DATABASE_URL_FILE;
  }
  return { ...file, ...environment };
}

/**
 * Reads `.env` of the working directory, if it exists. With `node --env-file`, Node has read another file in its place.
 */
function readEnvFile(): Variables {
  if (process.execArgv.some((argument) => argument.startsWith('--env-file'))) return {};
  try {
    // Node takes a byte order mark for a part of a name and, in version 20, loses the variable behind a line of blanks.
    return parseEnv(readFileSync('.env', 'utf8').replace(/^\s+/gm, ''));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw explainReadError('.env', error);
  }
}

function withoutEmpty(variables: Variables): Variables {
  return Object.fromEntries(Object.entries(variables).filter(([, text]) => text !== ''));
}

/**
 * Makes the configuration of variables, none of which is empty.
 *
 * @throws {OperatorError} with a line for each variable that cannot be used
 */
export function parseConfiguration(given: Variables): Configuration {
  const variables = readDatabaseUrlFile(given);
  const texts: Record<string, string> = {};
  for (const setting of SETTINGS) {
    const text = variables[variableOf(setting)];
    if (text !== undefined) texts[setting] = text;
  }
  const configuration = plainToInstance(Configuration, texts);
  assertNoFaults(findInvalid(configuration));
  assertNoFaults(findConflicts(configuration));
  return configuration;
}

/**
 * Reads the URL of the database from the file that DATABASE_URL_FILE names, to keep a password out of the environment.
 */
function readDatabaseUrlFile(variables: Variables): Variables {
  const { DATABASE_URL, DATABASE_URL_FILE: file } = variables;
  if (file === undefined) return variables;
  if (DATABASE_URL !== undefined) {
    throw badUsage('DATABASE_URL and DATABASE_URL_FILE exclude each other: set one of them');
  }
  const content = namingVariable('DATABASE_URL_FILE', () => readRegularFile(file, 'secret'));
  return { ...variables, DATABASE_URL: content.toString('utf8').trimEnd() };
}

/** Returns the name of a setting's variable, such as DATABASE_URL for databaseUrl. */
function variableOf(setting: string): string {
  return setting.replace(/[A-Z]/g, '_$&').toUpperCase();
}

function assertNoFaults(faults: readonly string[]): void {
  if (faults.length > 0) throw badUsage(faults.join('\n'));
}

/** Finds settings whose texts break their rules. */
function findInvalid(configuration: Configuration): string[] {
  return validateSync(configuration).map(
    ({ property, constraints = {} }) => `${variableOf(property)} ${Object.values(constraints).join()}`,
  );
}

/** Finds settings that do not go together. */
function findConflicts(configuration: Configuration): string[] {
  const faults = NEEDS.filter(
    ([name, other]) => configuration[name] !== undefined && configuration[other] === undefined,
  ).map(([name, other]) => `${variableOf(other)} must be set, because ${variableOf(name)} is set`);
  const { jwtIssuer, jwtJwksUrl, jwtAllowHttp } = configuration;
  for (const [name, url] of Object.entries({ jwtIssuer, jwtJwksUrl })) {
    if (url === undefined || jwtAllowHttp === 'on' || isHttpsOrLoopback(new URL(url))) continue;
    faults.push(`${variableOf(name)} must be https; if you trust the network to it, set JWT_ALLOW_HTTP=on`);
  }
  return faults;
}
