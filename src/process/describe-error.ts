import { inspect } from 'node:util';
import { TokenFileError } from '../auth/token-file.js';
import { ConfigurationError } from '../config/configuration.js';
import { RepositoryStartError, RepositoryUnavailableError } from '../storage/plant-repository.js';
import { CommandError } from './command-error.js';
import { EXIT_STATUS, type ExitStatus } from './exit-status.js';

/** Errors whose message is for the operator; others are defects, which are reported with their stack. */
const OPERATOR_ERRORS = [
  CommandError,
  ConfigurationError,
  RepositoryStartError,
  RepositoryUnavailableError,
  TokenFileError,
];

/** Returns the text of an error for the operator, and the exit status of the program. */
export function describeError(error: unknown): { readonly text: string; readonly status: ExitStatus } {
  // Errors of the system, such as ENOENT, name the file.
  const isKnown = OPERATOR_ERRORS.some((type) => error instanceof type) || 'syscall' in Object(error);
  const text = isKnown ? (error as Error).message : inspect(error);
  if (error instanceof ConfigurationError) return { text, status: EXIT_STATUS.badUsage };
  return { text, status: error instanceof CommandError ? error.status : EXIT_STATUS.failed };
}
