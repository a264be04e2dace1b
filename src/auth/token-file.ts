import { realpathSync, unlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import { OperatorError } from '../operator-error.js';
import { appendToFile, createFile, makeDirectory, replaceFile } from '../files/durable-files.js';
import { explainWriteError } from '../files/file-errors.js';
import { readRegularFile } from '../files/regular-file.js';
import type { StaticToken } from './static-tokens.js';

/**
 * Reads the text of a token file.
 *
 * @throws {OperatorError} if the file cannot be read, or if users other than its owner and its group can read it
 */
export function readTokenFile(file: string): string {
  return readRegularFile(file, 'secret', 'create it with plant-store token create').toString('utf8');
}

/**
 * Parses the text of a token file. Each line has a name, `sha256:` and the token's digest in hexadecimal, and
 * optionally the instant at which the token expires. Blank lines and lines that begin with # are ignored.
 *
 * @param file the name of the file, for the message of the error
 * @throws {OperatorError} if a line is wrong
 */
export function parseTokens(text: string, file: string): StaticToken[] {
  return text.split(/\r?\n/).flatMap((line, index) => {
    if (/^\s*(?:#|$)/.test(line)) return [];
    const token = parseLine(line);
    if (token !== undefined) return [token];
    throw new OperatorError(
      `${file}, line ${index + 1}, is not a token: it must be a name, sha256:<64 hexadecimal digits>, ` +
        'and optionally an expiry such as 2030-01-01T00:00:00Z',
    );
  });
}

function parseLine(line: string): StaticToken | undefined {
  const [, name, hex, expiry] = /^\s*(\S+)\s+sha256:([0-9a-f]{64})(?:\s+(\S+))?\s*$/i.exec(line) ?? [];
  if (name === undefined || hex === undefined) return undefined;
  const digest = Buffer.from(hex, 'hex');
  if (expiry === undefined) return { name, digest };
  const expires = parseInstant(expiry);
  return expires && { name, digest, expires };
}

/** Returns the line of a token file for a token, with its line feed. */
export function formatToken({ name, digest, expires }: StaticToken): string {
  const expiry = expires === undefined ? '' : ` ${formatInstant(expires)}`;
  return `${name} sha256:${Buffer.from(digest).toString('hex')}${expiry}\n`;
}

/** Parses an instant in UTC such as 2030-01-01T00:00:00Z; returns undefined for any other text. */
export function parseInstant(text: string): Date | undefined {
  const instant = new Date(text);
  if (Number.isNaN(instant.getTime())) return undefined;
  // V8 parses 30 February as 2 March.
  return text === formatInstant(instant) ? instant : undefined;
}

function formatInstant(instant: Date): string {
  return instant.toISOString().replace('.000Z', 'Z');
}

/**
 * Creates a file with a token, and its directory.
 *
 * @returns false if there is a file already, which stays unchanged
 * @throws {OperatorError} if it cannot be written, or could not be read back: its token would be refused
 */
export function createTokenFile(file: string, token: StaticToken): boolean {
  const isCreated = write(file, () => {
    makeDirectory(dirname(file));
    return createFile(file, formatToken(token));
  });
  if (!isCreated) return false;
  try {
    readTokenFile(file);
  } catch (cause) {
    unlinkSync(file);
    throw new OperatorError(
      `${file} would not be private, because its file system keeps no modes, like /mnt/c of WSL or a share of SMB: ` +
        'set ACCESS_TOKENS_FILE to a file on another file system, or move all data there with DATABASE_URL',
      { cause },
    );
  }
  return true;
}

/**
 * Appends a token to a file, which is created if it is missing.
 *
 * @throws {OperatorError} if the file cannot be used or written, or has a token of this name
 */
export function addToken(file: string, token: StaticToken): void {
  if (createTokenFile(file, token)) return;
  const text = readTokenFile(file);
  if (hasToken(text, file, token.name)) {
    throw new OperatorError(`${token.name} already has a token: choose another name, or revoke it first`);
  }
  const endOfLine = text === '' || text.endsWith('\n') ? '' : '\n';
  write(file, () => appendToFile(file, `${endOfLine}${formatToken(token)}`));
}

/**
 * Removes the tokens of this name from a file. A change that another program makes at the same time may be lost.
 *
 * @throws {OperatorError} if the file cannot be used or written, or has no such token
 */
export function removeTokens(file: string, name: string): void {
  const text = readTokenFile(file);
  if (!hasToken(text, file, name)) throw new OperatorError(`${file} has no token named ${name}`);
  const rest = text.split(/(?<=\n)/).filter((line) => parseLine(line)?.name !== name);
  // `realpathSync` keeps a symbolic link, and replaces its target.
  write(file, () => replaceFile(realpathSync(file), rest.join('')));
}

/** @throws {OperatorError} at a wrong line, which the operator must correct first */
function hasToken(text: string, file: string, name: string): boolean {
  return parseTokens(text, file).some((token) => token.name === name);
}

/** Runs the work, and gives errors of the file system a message for the operator. */
function write<Result>(file: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw explainWriteError(file, error);
  }
}
