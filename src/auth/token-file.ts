import { randomUUID } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { digestOf, type StaticToken } from './static-tokens.js';

/** A file of tokens that cannot be used; the message is one line for the operator. */
export class TokenFileError extends Error {
  override readonly name = 'TokenFileError';
}

/** RFC 3339 §5.6, with the offset that makes it an instant. */
const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/i;

/** An instant as RFC 3339 writes it; undefined where the text is none. */
export function parseInstant(text: string): Date | undefined {
  const instant = new Date(text);
  return DATE_TIME.test(text) && !Number.isNaN(instant.getTime()) ? instant : undefined;
}

/**
 * The text of a file of tokens.
 *
 * @throws {TokenFileError} when it cannot be read, or when others than its owner may read or write it
 */
export async function readTokenText(file: string): Promise<string> {
  try {
    const stats = await stat(file);
    // Anything else may never end.
    if (!stats.isFile()) throw new TokenFileError(`${file} is no regular file: it must be one`);
    // Windows has no such permissions to check.
    if (process.getuid !== undefined) {
      if (stats.uid !== process.getuid() && stats.uid !== 0) {
        throw new TokenFileError(
          `${file} belongs to another user: it must belong to the one that runs this, or to root`,
        );
      }
      if ((stats.mode & 0o077) !== 0) {
        throw new TokenFileError(`${file} may be read or written by others than its owner: chmod 600 ${file}`);
      }
    }
    return await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof TokenFileError) throw error;
    throw new TokenFileError(`${file} cannot be read: it must be a file that this user may read`, { cause: error });
  }
}

/**
 * Reads the text of a file of tokens: one a line, as a name, `sha256:` with the token's digest in hexadecimal, and
 * optionally the instant from which it is not valid any more. Blank lines and those that begin with # say nothing.
 *
 * @param file its name, for the complaint
 * @throws {TokenFileError} when a line is wrong, or when there is none: a file that is being written looks like that
 */
export function parseTokens(text: string, file: string): StaticToken[] {
  if (text.trim() === '') throw new TokenFileError(`${file} is empty: add a token, or a comment where there is none`);
  return text.split(/\r?\n/).flatMap((line, index) => {
    if (/^\s*(?:#|$)/.test(line)) return [];
    const token = parseLine(line);
    if (token !== undefined) return [token];
    throw new TokenFileError(
      `${file}, line ${index + 1}, is no token: it must be a name, sha256:<64 hexadecimal digits>, ` +
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

/** The line of a file for a token. */
export function lineOf(name: string, token: string, expires?: Date): string {
  const line = `${name} sha256:${digestOf(token).toString('hex')}`;
  return expires === undefined ? line : `${line} ${expires.toISOString().replace('.000Z', 'Z')}`;
}

/**
 * Makes a file with one line in it, unless the file exists.
 *
 * @returns whether it did not
 * @throws {TokenFileError} when the file cannot be written
 */
export function createTokenFile(file: string, line: string): boolean {
  try {
    mkdirSync(dirname(file), { recursive: true });
    return writeDraft(file, `${line}\n`, (draft) => linkNew(draft, file));
  } catch (error) {
    throw cannotBeWritten(file, error);
  }
}

/** How long a change may wait for others, and how often it looks whether they are done, in milliseconds. */
const LOCK_PATIENCE = 5_000;
const LOCK_INTERVAL = 20;

/**
 * Replaces a file of tokens as a whole: at no moment anybody sees half of it, and of two changes at once none is lost.
 *
 * @param change gets the text, empty where there is no such file, and returns what is to stand; it may throw
 * @throws {TokenFileError} when the file cannot be used, written or locked
 */
export async function changeTokenFile(name: string, change: (text: string) => string): Promise<void> {
  const file = targetOf(name);
  const lock = `${file}.lock`;
  try {
    mkdirSync(dirname(file), { recursive: true });
    await acquire(lock);
  } catch (error) {
    throw error instanceof TokenFileError ? error : cannotBeWritten(file, error);
  }
  try {
    let replaced = false;
    while (!replaced) {
      const exists = existsSync(file);
      const text = change(exists ? await readTokenText(file) : '');
      // The first start of the service makes the file without the lock.
      replaced = writeDraft(file, text, (draft) => (exists ? replace(draft, file) : linkNew(draft, file)));
    }
  } catch (error) {
    if (error instanceof Error && 'syscall' in error) throw cannotBeWritten(file, error);
    throw error;
  } finally {
    rmSync(lock);
  }
}

/** What a symbolic link leads to is replaced, not the link. */
function targetOf(name: string): string {
  if (existsSync(name)) return realpathSync(name);
  if (isLink(name)) throw new TokenFileError(`${name} is a link that leads to no file: remove it, or make that file`);
  return name;
}

function isLink(name: string): boolean {
  try {
    readlinkSync(name);
    return true;
  } catch {
    return false;
  }
}

async function acquire(lock: string): Promise<void> {
  for (let waited = 0; waited <= LOCK_PATIENCE; waited += LOCK_INTERVAL) {
    try {
      closeSync(openSync(lock, 'wx', 0o600));
      return;
    } catch (error) {
      if (!isExisting(error)) throw error;
      await sleep(LOCK_INTERVAL);
    }
  }
  throw new TokenFileError(`${lock} exists: wait for the other command, or remove it where there is none`);
}

/** Writes a file of another name beside this one, on the disk, and puts it in place. */
function writeDraft(file: string, text: string, place: (draft: string) => boolean): boolean {
  const draft = `${file}.${randomUUID()}`;
  try {
    writeFileSync(draft, text, { mode: 0o600, flag: 'wx', flush: true });
    const placed = place(draft);
    if (process.platform !== 'win32') syncDirectory(dirname(file));
    return placed;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** @returns false where the file exists: whoever comes first makes it */
function linkNew(draft: string, file: string): boolean {
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if (isExisting(error)) return false;
    throw error;
  }
}

function replace(draft: string, file: string): true {
  renameSync(draft, file);
  return true;
}

/** The new name of a file is on the disk when its directory is. */
function syncDirectory(directory: string): void {
  const descriptor = openSync(directory, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function isExisting(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EEXIST';
}

function cannotBeWritten(file: string, cause: unknown): TokenFileError {
  return new TokenFileError(`${file} cannot be written: its directory must be one where this user may write`, {
    cause,
  });
}
