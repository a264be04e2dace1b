import { inspect } from 'node:util';
import { TokenFileError } from '../auth/token-file.js';
import { ConfigurationError } from '../config/configuration.js';
import { RepositoryStartError, RepositoryUnavailableError } from '../storage/plant-repository.js';
import { EXIT_STATUS, type ExitStatus } from './exit-status.js';

/** A command that cannot be carried out; the message is one line for the operator. */
export class CommandError extends Error {
  override readonly name = 'CommandError';

  constructor(
    message: string,
    readonly status: ExitStatus = EXIT_STATUS.failed,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Adds the name of a file to an error of the system, such as ENOSPC, which has none. Other errors stay as they are. */
export function fileError(file: string, error: unknown): unknown {
  if (!(error instanceof Error) || !('syscall' in error) || 'path' in error) return error;
  return new CommandError(`${file} cannot be written: ${error.message}`, undefined, { cause: error });
}

/** Adds the variables that set an address to the error of the system that refuses it. Other errors stay as they are. */
export function addressError(variables: string, address: string, error: unknown): unknown {
  if (!(error instanceof Error) || !('syscall' in error) || !('code' in error)) return error;
  const refusal = `${variables}: cannot listen on ${address} (${String(error.code)})`;
  const advice = 'set an address of this machine, and a port from 1024 on that is free';
  return new CommandError(`${refusal}: ${advice}`, undefined, { cause: error });
}

/** Errors whose message is for the operator; others are defects, which are reported with their stack. */
const OPERATOR_ERRORS = [
  CommandError,
  ConfigurationError,
  RepositoryStartError,
  RepositoryUnavailableError,
  TokenFileError,
];

/** How a process has ended; the text is for the operator. */
export interface ProcessEnd {
  readonly text: string;
  readonly status: ExitStatus;
}

/** Returns how a process ends because of this error. */
export function describeError(error: unknown): ProcessEnd {
  // Errors of the system, such as ENOENT, name the file.
  const isKnown = OPERATOR_ERRORS.some((type) => error instanceof type) || 'syscall' in Object(error);
  const text = isKnown ? (error as Error).message : inspect(error);
  if (error instanceof ConfigurationError) return { text, status: EXIT_STATUS.badUsage };
  return { text, status: error instanceof CommandError ? error.status : EXIT_STATUS.failed };
}
