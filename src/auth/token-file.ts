import { randomUUID } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { digestOf, type StaticToken } from './static-tokens.js';

/** A file of tokens that cannot be used; the message is one line for the operator. */
export class TokenFileError extends Error {
  override readonly name = 'TokenFileError';
}

/** RFC 3339 §5.6, with the offset that makes it an instant. */
const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/i;

/**
 * Reads a file of tokens: one a line, as a name, `sha256:` with the token's digest in hexadecimal, and optionally
 * the instant from which it is not valid any more. Blank lines and those that begin with # say nothing.
 *
 * @throws {TokenFileError} when the file cannot be read, others than its owner may read it, a line is wrong, or there is none
 */
export function readTokenFile(file: string): StaticToken[] {
  let text: string;
  try {
    // Windows has no such permissions to check.
    if (process.platform !== 'win32' && (statSync(file).mode & 0o077) !== 0) {
      throw new TokenFileError(`${file} may be read or written by others than its owner: chmod 600 ${file}`);
    }
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof TokenFileError) throw error;
    throw new TokenFileError(`${file} cannot be read: it must be a file that this user may read`, { cause: error });
  }
  const tokens = text.split(/\r?\n/).flatMap((line, index) => {
    if (/^\s*(?:#|$)/.test(line)) return [];
    const token = parseLine(line);
    if (token !== undefined) return [token];
    throw new TokenFileError(
      `${file}, line ${index + 1}, is no token: it must be a name, sha256:<64 hexadecimal digits>, ` +
        'and optionally an expiry such as 2030-01-01T00:00:00Z',
    );
  });
  if (tokens.length === 0) throw new TokenFileError(`${file} has no token in it: add one, or remove the file`);
  return tokens;
}

function parseLine(line: string): StaticToken | undefined {
  const [name, digest, expiry, ...more] = line.trim().split(/\s+/);
  const hex = /^sha256:([0-9a-f]{64})$/i.exec(digest ?? '')?.[1];
  if (name === undefined || hex === undefined || more.length > 0) return undefined;
  if (expiry === undefined) return { name, digest: Buffer.from(hex, 'hex') };
  const expires = new Date(expiry);
  if (!DATE_TIME.test(expiry) || Number.isNaN(expires.getTime())) return undefined;
  return { name, digest: Buffer.from(hex, 'hex'), expires };
}

/**
 * Makes a file with the digest of one token in it, unless the file exists.
 *
 * @returns whether it did not
 * @throws {TokenFileError} when the file cannot be written
 */
export function createTokenFile(file: string, token: string): boolean {
  const draft = `${file}.${randomUUID()}`;
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(draft, `first-start sha256:${digestOf(token).toString('hex')}\n`, {
      mode: 0o600,
      flag: 'wx',
      flush: true,
    });
    try {
      // Whoever comes first makes the file, and nobody ever sees half of it.
      linkSync(draft, file);
      return true;
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
      throw error;
    } finally {
      rmSync(draft);
    }
  } catch (error) {
    throw new TokenFileError(`${file} cannot be written: its directory must be one where this user may write`, {
      cause: error,
    });
  }
}
