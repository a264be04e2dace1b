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
