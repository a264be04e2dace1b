import { inspect } from 'node:util';
import { EXIT_STATUS, type ExitStatus, OperatorError } from '../operator-error.js';
import { RepositoryUnavailableError } from '../storage/plant-repository.js';
import { withoutCredentials } from '../operator-text.js';

/** How a process has ended; the text is for the operator. */
interface ProcessEnd {
  readonly text: string;
  readonly status: ExitStatus;
}

/** Returns how a process ends because of this error. Only the text of a defect has a stack. */
export function describeError(error: unknown): ProcessEnd {
  if (error instanceof OperatorError) return { text: withoutCredentials(error.message), status: error.status };
  // Errors of the system, such as ENOENT, name the file.
  const isKnown = error instanceof RepositoryUnavailableError || 'syscall' in Object(error);
  const text = isKnown ? (error as Error).message : inspect(error);
  return { text: withoutCredentials(text), status: EXIT_STATUS.failed };
}
