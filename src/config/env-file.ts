import { lstatSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { badUsage } from '../operator-error.js';
import { assertPrivacy, readRegularFile } from '../files/regular-file.js';
import { faultOf, isVariable } from './env-line.js';

/** Texts of variables, by their names. */
export type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Reads the variables of a file.
 *
 * @param file the file of ENV_FILE; without one, `.env` in the working directory, which may be missing
 * @throws {OperatorError} if it cannot be read, if another user could have written it, or if it has a wrong line
 */
export function readEnvFile(file?: string): Variables {
  const path = file ?? '.env';
  // lstat finds a link without a target: it is a secret that is not mounted, and reading it must fail.
  if (file === undefined && lstatSync(path, { throwIfNoEntry: false }) === undefined) return {};
  const lines = decode(readRegularFile(path, 'trusted'), path).split(/\r?\n/);
  // ENV_FILE may be the file of the unit, and the commands must see the same values as the service.
  const isForSystemd = file !== undefined;
  for (const [index, line] of lines.entries()) {
    const fault = faultOf(line, isForSystemd);
    // The message must not have the line, which may have a secret.
    if (fault !== undefined) throw badUsage(`${path}, line ${index + 1}, ${fault}`);
  }
  // Blank lines are left out: after one with a space, Node 20 takes the line feed as a part of the next name.
  const assignments = lines.filter(isVariable).map((line) => line.trim());
  const variables = parseEnv(assignments.join('\n'));
  if (hasSecret(variables)) assertPrivacy(path, 'secret');
  return variables;
}

function decode(bytes: Buffer, path: string): string {
  try {
    // TextDecoder removes a byte order mark, which would become a part of the first variable's name.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw badUsage(`${path} must be a file in UTF-8`, cause);
  }
}

/** Returns whether the variables have tokens, or the URL of a server, which may have a password. */
function hasSecret({ ACCESS_TOKENS = '', DATABASE_URL = '' }: Variables): boolean {
  return ACCESS_TOKENS !== '' || DATABASE_URL.startsWith('postgres');
}
