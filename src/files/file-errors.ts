import { badUsage, OperatorError } from '../operator-error.js';

/**
 * Turns an error of the system, after reading a file failed, into one for the operator. Returns other errors as they
 * are.
 *
 * @param ifMissing advice if there is no such file
 */
export function explainReadError(file: string, cause: unknown, ifMissing = 'name one that exists'): unknown {
  if (!isSystemError(cause)) return cause;
  if (cause.code === 'ENOENT') return badUsage(`there is no file ${file}: ${ifMissing}`, cause);
  return badUsage(`${file} cannot be read: ${cause.message}`, cause);
}

/** Turns an error of the system, after writing a file failed, into one for the operator. Returns others as they are. */
export function explainWriteError(file: string, cause: unknown): unknown {
  if (!isSystemError(cause)) return cause;
  // Another process has created the file since the command looked for it.
  if (cause.code === 'EEXIST') return alreadyExists(file);
  return new OperatorError(`${file} cannot be written: ${cause.message}`, { cause });
}

/**
 * Makes the error of a file that is to be created.
 *
 * @param advice for the operator
 */
export function alreadyExists(file: string, advice = 'name another file'): OperatorError {
  return new OperatorError(`${file} already exists: ${advice}`);
}

/** Returns whether this is an error of the system, whose message has the code, the reason and mostly the file. */
function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return 'syscall' in Object(error);
}
