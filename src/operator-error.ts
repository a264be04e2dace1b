/** The exit statuses of the program; see docs/data.md. */
export const EXIT_STATUS = {
  done: 0,
  failed: 1,
  /** The configuration or the command line is wrong. */
  badUsage: 2,
  /** The command has finished, and found rejected rows or conflicts. */
  findings: 3,
  interrupted: 130,
} as const;

export type ExitStatus = (typeof EXIT_STATUS)[keyof typeof EXIT_STATUS];

interface OperatorErrorOptions {
  /** The exit status of the program if the error ends it. Defaults to 1. */
  readonly status?: ExitStatus;
  readonly cause?: unknown;
}

/** A fault that an operator must correct. The message is one line, which names the fault and how to correct it. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError';
  readonly status: ExitStatus;

  constructor(message: string, { status = EXIT_STATUS.failed, cause }: OperatorErrorOptions = {}) {
    super(message, { cause });
    this.status = status;
  }
}

/** Makes the error of a configuration or a command line that is wrong. */
export function badUsage(message: string, cause?: unknown): OperatorError {
  return new OperatorError(message, { status: EXIT_STATUS.badUsage, cause });
}

/** Reads a file. If it cannot be used, the message begins with the variable that names it. */
export function forVariable<Result>(variable: string, read: () => Result): Result {
  try {
    return read();
  } catch (cause) {
    if (!(cause instanceof OperatorError)) throw cause;
    throw badUsage(`${variable}: ${cause.message}`, cause);
  }
}
