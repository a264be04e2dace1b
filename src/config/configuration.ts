import { dirname, join } from 'node:path';
import { badUsage, namingVariable } from '../operator-error.js';
import { readRegularFile } from '../files/regular-file.js';
import { type DatabaseUrl, SSL_MODE_RULE } from '../storage/database-url.js';
import type { DatabaseOptions } from '../storage/engines.js';
import { readEnvFile, type Variables } from './env-file.js';
import { type Setting, type Settings, SETTINGS } from './settings.js';

/** Pairs of a setting and another setting that it needs. */
const NEEDS = [
  ['tlsCertFile', 'tlsKeyFile'],
  ['tlsKeyFile', 'tlsCertFile'],
  ['jwtIssuer', 'jwtAudience'],
  ['jwtAudience', 'jwtIssuer'],
  ['jwtJwksUrl', 'jwtIssuer'],
] as const;

export interface Configuration extends Settings {
  /** The token file that the first start creates beside the data if no tokens are configured. */
  readonly firstTokenFile: string;
  /** The settings of a store beside its URL. */
  readonly store: Pick<DatabaseOptions, 'timeout' | 'startTimeout'>;
}

/**
 * Reads the configuration from the environment and, for settings that it lacks, from the file that ENV_FILE names or from
 * `.env` in the working directory.
 *
 * @throws {OperatorError} if this file cannot be used, or at the first variable that cannot be used
 */
export function loadConfiguration(): Configuration {
  const { ENV_FILE: file = '' } = process.env;
  const variables = file === '' ? readEnvFile() : namingVariable('ENV_FILE', () => readEnvFile(file));
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
  const content = namingVariable(variable, () => readRegularFile(file, 'secret'));
  return content.toString('utf8').trimEnd();
}

/** @param source where the text comes from, for the message */
function readText(text: string, source: string, { read, rule }: Setting): unknown {
  const value = read(text);
  // The message must not have the value, which may be a secret.
  if (value === undefined) throw badUsage(`${source} must be ${rule}`);
  return value;
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
  if (databaseUrl.engine === 'postgres' && databaseUrl.lacksSslMode) {
    throw badUsage(`DATABASE_URL must have ${SSL_MODE_RULE}`);
  }
}

/** Returns whether the system refuses to listen on one port of both hosts. */
function overlap(...hosts: readonly [string, string]): boolean {
  if (hosts[0] === hosts[1] || hosts.includes('::')) return true;
  return hosts.includes('0.0.0.0') && !hosts.some((host) => host.includes(':'));
}

function tokenFileBeside(url: DatabaseUrl): string {
  const directory = url.engine === 'sqlite' && url.file !== undefined ? dirname(url.file) : 'data';
  return join(directory, 'tokens');
}
