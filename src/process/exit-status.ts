/** The exit statuses of the program; see docs/data.md. */
export const EXIT_STATUS = {
  done: 0,
  failed: 1,
  /** The configuration or the command line is wrong. */
  badUsage: 2,
  /** The command has finished, but with rejected rows, conflicts or differences. */
  differences: 3,
  interrupted: 130,
} as const;

export type ExitStatus = (typeof EXIT_STATUS)[keyof typeof EXIT_STATUS];

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
