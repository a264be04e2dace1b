import { constants, existsSync, lstatSync, realpathSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { acquireLock } from '../files/lock-file.js';
import { makeDirectory } from '../files/make-directory.js';
import { createFile, replaceFile } from '../files/replace-file.js';
import type { StaticToken } from './static-tokens.js';
import { TokenFileError } from './token-file-error.js';

/** The text of a file without tokens. An empty file would be refused, because it may be half written. */
const HEADER = '# Tokens of Plant Store: name, digest, and optionally expiry. "plant-store token" changes them.\n';

/** RFC 3339 §5.6, with the offset that makes it an instant, and without leap seconds, which a Date does not have. */
const DATE_TIME = /^(\d{4}-\d\d-\d\d)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/** Parses an instant in the format of RFC 3339, up to the year 9999 in UTC; returns undefined for any other text. */
export function parseInstant(text: string): Date | undefined {
  // V8 reads a date in lower case by other rules.
  const upper = text.toUpperCase();
  const [, date] = DATE_TIME.exec(upper) ?? [];
  return date !== undefined && isDate(date) ? inFourDigitYear(new Date(upper)) : undefined;
}

/** V8 takes 30 February for 2 March. */
function isDate(date: string): boolean {
  const day = new Date(`${date}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(date);
}

/** With its offset, an instant may be in the year 10000, or before the year 0, which RFC 3339 cannot express. */
function inFourDigitYear(instant: Date): Date | undefined {
  return /^\d{4}-/.test(instant.toISOString()) ? instant : undefined;
}

/**
 * Reads the text of a token file.
 *
 * @param isCommand whether an operator's command reads it, which root may run for the user of the service
 * @throws {TokenFileError} if it cannot be read, or if users other than its owner and its group can read it
 */
export async function readTokenFile(file: string, { isCommand = false } = {}): Promise<string> {
  let handle: FileHandle | undefined;
  try {
    // The file that is checked is the one that is read. Without O_NONBLOCK, opening a pipe waits for a writer.
    handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const stats = await handle.stat();
    // Reading a device may never end.
    if (!stats.isFile()) throw new TokenFileError(`${file} is not a regular file`);
    // Windows has no such permissions to check.
    if (process.getuid !== undefined) {
      const user = process.getuid();
      if (stats.uid !== user && stats.uid !== 0 && !(isCommand && user === 0)) {
        throw new TokenFileError(`${file} belongs to another user: it must belong to the current user or to root`);
      }
      // A group may read it: secrets of Kubernetes and credentials of systemd are mounted like this.
      if ((stats.mode & 0o027) !== 0) {
        throw new TokenFileError(`${file} can be read or written by other users: chmod 600 ${file}`);
      }
    }
    return await handle.readFile('utf8');
  } catch (error) {
    if (error instanceof TokenFileError) throw error;
    throw new TokenFileError(`${file} cannot be read: it must be a file that this user may read`, { cause: error });
  } finally {
    await handle?.close();
  }
}

/**
 * Parses the text of a token file. Each line has a name, `sha256:` and the token's digest in hexadecimal, and optionally
 * the instant at which the token expires. Blank lines and lines that begin with # are ignored.
 *
 * @param file its name, for the message of the error
 * @throws {TokenFileError} if a line is wrong, or if the text is empty, as that of a file that is being written
 */
export function parseTokens(text: string, file: string): StaticToken[] {
  if (text.trim() === '') throw new TokenFileError(`${file} is empty: add a token, or a comment if there is none`);
  return text.split(/\r?\n/).flatMap((line, index) => {
    if (/^\s*(?:#|$)/.test(line)) return [];
    const token = parseLine(line);
    if (token !== undefined) return [token];
    throw new TokenFileError(
      `${file}, line ${index + 1}, is not a token: it must be a name, sha256:<64 hexadecimal digits>, ` +
        'and optionally an expiry such as 2030-01-01T00:00:00Z',
    );
  });
}

function parseLine(line: string): StaticToken | undefined {
  const [name, digest, expiry, ...more] = line.trim().split(/\s+/);
  const hex = /^sha256:([0-9a-f]{64})$/i.exec(digest ?? '')?.[1];
  if (name === undefined || hex === undefined || more.length > 0) return undefined;
  if (expiry === undefined) return { name, digest: Buffer.from(hex, 'hex') };
  const expires = parseInstant(expiry);
  return expires && { name, digest: Buffer.from(hex, 'hex'), expires };
}

/** Returns the text of a token file with one more token. */
export function addToken(text: string, token: StaticToken): string {
  const before = text === '' ? HEADER : text.replace(/(?<!\n)$/, '\n');
  return `${before}${formatToken(token)}\n`;
}

/** Returns the text of a token file without the tokens of this name. */
export function removeTokens(text: string, name: string): string {
  const lines = text.split(/(?<=\n)/).filter((line) => parseLine(line)?.name !== name);
  return lines.join('') || HEADER;
}

/** Returns the line of a token file for a token, without the end of the line. */
export function formatToken({ name, digest, expires }: StaticToken): string {
  const line = `${name} sha256:${Buffer.from(digest).toString('hex')}`;
  return expires === undefined ? line : `${line} ${expires.toISOString().replace('.000Z', 'Z')}`;
}

/**
 * Creates a token file with one line.
 *
 * @returns false if the file exists already, which is left as it is
 * @throws {TokenFileError} if the file cannot be written
 */
export function createTokenFile(file: string, line: string): boolean {
  try {
    makeDirectory(dirname(file));
    return createFile(file, `${line}\n`);
  } catch (error) {
    throw cannotBeWritten(file, error);
  }
}

/** Milliseconds that a change waits for the lock. */
const LOCK_TIMEOUT = 5_000;

/**
 * Changes a token file atomically. A lock file keeps two changes at the same time from losing one of them.
 *
 * @param change receives the text, empty if there is no such file, and returns the new one; it may throw
 * @throws {TokenFileError} if the file cannot be used, written or locked
 */
export async function changeTokenFile(name: string, change: (text: string) => string): Promise<void> {
  const file = resolveLink(name);
  const lock = `${file}.lock`;
  let release: (() => void) | undefined;
  try {
    makeDirectory(dirname(file));
    release = await acquireLock(lock, LOCK_TIMEOUT);
  } catch (error) {
    throw cannotBeWritten(file, error);
  }
  if (release === undefined) {
    throw new TokenFileError(`${lock} exists: wait for the other command, or remove it if there is none`);
  }
  try {
    let changed = false;
    while (!changed) {
      if (existsSync(file)) {
        replaceFile(file, change(await readTokenFile(file, { isCommand: true })));
        changed = true;
      } else {
        // The first start of the service creates the file without the lock; then its text is to be changed, too.
        changed = createFile(file, change(''));
      }
    }
  } catch (error) {
    if (error instanceof Error && 'syscall' in error) throw cannotBeWritten(file, error);
    throw error;
  } finally {
    release();
  }
}

/** Returns the target of a symbolic link, so that the target is replaced and not the link. */
function resolveLink(name: string): string {
  if (existsSync(name)) return realpathSync(name);
  if (isLink(name)) {
    throw new TokenFileError(`${name} is a broken symbolic link: remove it, or create its target`);
  }
  return name;
}

function isLink(name: string): boolean {
  try {
    return lstatSync(name).isSymbolicLink();
  } catch {
    return false;
  }
}

function cannotBeWritten(file: string, cause: unknown): TokenFileError {
  return new TokenFileError(`${file} cannot be written: its directory must be one where this user may write`, {
    cause,
  });
}
