import { statSync } from 'node:fs';
import { readEnvFile, readVariables } from './load-configuration.js';

/** Settings of older versions, and what to do instead. */
const REMOVED: Readonly<Record<string, string>> = {
  DATABASE_POOL_SIZE: 'the service opens as many connections as it needs, see "Size" in docs/scaling.md',
  MANAGEMENT_ALLOWED_HOSTS: 'the management listener answers every Host',
  OTHER_DATABASE_URL: 'move plants with export and import, and compare stores with verify',
  OTHER_DATABASE_URL_FILE: 'move plants with export and import, and compare stores with verify',
  REFUSED_TOKENS_PER_MINUTE: 'let a proxy limit the requests of an address',
  WORKERS: 'start several instances, see "Several processes on one machine" in docs/scaling.md',
};

/** Returns what the operator should look at although the configuration can be used, a line each. */
export function findWarnings(): string[] {
  const variables = readVariables();
  const warnings = Object.entries(REMOVED)
    .filter(([name]) => variables[name] !== undefined)
    .map(([name, advice]) => `${name} has no effect any more: ${advice}`);
  if (isEnvFileExposed()) warnings.push('other users can read the secrets in .env: chmod 600 .env');
  return warnings;
}

/** Returns whether other users can read tokens or a password in `.env`. */
function isEnvFileExposed(): boolean {
  const { ACCESS_TOKENS = '', DATABASE_URL = '' } = readEnvFile();
  const hasSecret = ACCESS_TOKENS !== '' || DATABASE_URL.startsWith('postgres');
  // Windows has no modes.
  return hasSecret && process.platform !== 'win32' && (statSync('.env').mode & 0o004) !== 0;
}
