import { dirname, resolve } from 'node:path';
import { badUsage, OperatorError } from '../operator-error.js';

const TOO_MANY_FILES = 'too many files are open, so raise the limit of the process, such as LimitNOFILE= of systemd';

/** Advice about errors of opening a file, by their codes: the process, or the system, has no more file descriptors. */
const OPENING_ADVICE: Readonly<Record<string, string>> = { EMFILE: TOO_MANY_FILES, ENFILE: TOO_MANY_FILES };

/**
 * Turns an error of the system, after reading a file failed, into one for the operator. Returns other errors as they are.
 *
 * @param ifMissing advice if there is no such file
 */
export function explainReadError(file: string, cause: unknown, ifMissing = 'name one that exists'): unknown {
  const code = systemCodeOf(cause);
  if (code === undefined) return cause;
  if (code === 'ENOENT' || code === 'ENOTDIR') return badUsage(`there is no file ${file}: ${ifMissing}`, cause);
  const advice = OPENING_ADVICE[code] ?? 'this user must be able to read it';
  return badUsage(`${file} cannot be read (${code}): ${advice}`, cause);
}

/** The advice if `publishFile` could write the draft, but not link it. */
const NO_LINKS = 'its file system must support hard links, so name a file on another one';

const FULL_DISK = 'its disk is full, so free some room, or name a file on another disk';

/** Advice about errors of writing a file, by their codes. */
const ADVICE: Readonly<Record<string, string>> = {
  ...OPENING_ADVICE,
  EDQUOT: FULL_DISK,
  EFBIG: 'it would be longer than the limit of this user or of the file system',
  EISDIR: 'it is a directory, so name a file',
  ENAMETOOLONG: 'its name is too long, so name it shorter',
  ENOSPC: FULL_DISK,
  EPIPE: 'its reader has ended',
  EROFS: 'its file system is read-only, so name a file elsewhere',
};

/**
 * Makes the error of a file that is to be created.
 *
 * @param advice for the operator
 */
export function alreadyExists(file: string, advice = 'name another file', cause?: unknown): OperatorError {
  return new OperatorError(`${file} already exists: ${advice}`, { cause });
}

/** Turns an error of the system, after writing a file failed, into one for the operator. Returns others as they are. */
export function explainWriteError(file: string, cause: unknown): unknown {
  const code = systemCodeOf(cause);
  if (code === undefined) return cause;
  // Another process has created the file since the command looked for it.
  if (code === 'EEXIST') return alreadyExists(file, undefined, cause);
  const directory = dirname(resolve(file));
  if (code === 'ENOENT') return new OperatorError(`there is no directory ${directory}: create it first`, { cause });
  if (code === 'ENOTDIR') return new OperatorError(`${directory} is not a directory: name a file elsewhere`, { cause });
  const advice = ADVICE[code] ?? (isLink(cause) ? NO_LINKS : 'this user must be able to write it and its directory');
  return new OperatorError(`${file} cannot be written (${code}): ${advice}`, { cause });
}

function isLink(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).syscall === 'link';
}

/** Returns the code of an error of the system; undefined for other errors, which have no `syscall`. */
function systemCodeOf(error: unknown): string | undefined {
  const { code, syscall } = Object(error) as NodeJS.ErrnoException;
  return syscall === undefined ? undefined : code;
}

/** Returns false if the call fails with this code. */
export function succeeds(code: 'EEXIST' | 'EPERM', call: () => void): boolean {
  try {
    call();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== code) throw error;
    return false;
  }
}
