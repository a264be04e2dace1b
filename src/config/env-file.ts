import { lstatSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { badUsage } from '../operator-error.js';
import { readRegularFile } from '../files/regular-file.js';

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Reads the variables of a file.
 *
 * @param file `.env` in the working directory without one, which may be missing
 * @throws {OperatorError} if it cannot be read, if another user could have written it, or if it has a wrong line
 */
export function readEnvFile(file?: string): Variables {
  const path = file ?? '.env';
  // A link without a target is a secret that is not mounted.
  if (file === undefined && lstatSync(path, { throwIfNoEntry: false }) === undefined) return {};
  const bytes = readRegularFile(path, 'trusted');
  const text = decode(bytes, path);
  text.split(/\r?\n/).forEach((line, index) => {
    if (!/^\s*(?:#|$)|^[^=#]+=/.test(line)) {
      // Without the line, which may have a secret.
      throw badUsage(`${path}, line ${index + 1}, must be a variable such as PORT=8080, or begin with #`);
    }
    // Its value would go on to the next such mark, and take the variables of other lines.
    if (/^[^=#]+=\s*(["'`])(?!.*\1)/.test(line)) {
      throw badUsage(`${path}, line ${index + 1}, has a value whose quotation mark does not close`);
    }
  });
  const variables = parseEnv(text);
  if (hasSecret(variables)) readRegularFile(path, 'secret');
  return variables;
}

function decode(bytes: Buffer, path: string): string {
  try {
    // Without a byte order mark, which would become a part of the first variable's name.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw badUsage(`${path} must be a file in UTF-8`, cause);
  }
}

/** Returns whether there are tokens, or the URL of a server, which may have a password. */
function hasSecret({ ACCESS_TOKENS = '', DATABASE_URL = '' }: Variables): boolean {
  return ACCESS_TOKENS !== '' || DATABASE_URL.startsWith('postgres');
}
