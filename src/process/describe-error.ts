import { inspect } from 'node:util';
import { EXIT_STATUS, type ExitStatus, OperatorError } from '../contract/operator-error.js';
import { RepositoryUnavailableError } from '../storage/plant-repository.js';

/** Adds the variables that set an address to the error of the system that refuses it. Other errors stay as they are. */
export function addressError(variables: string, address: string, error: unknown): unknown {
  if (!(error instanceof Error) || !('syscall' in error) || !('code' in error)) return error;
  const refusal = `${variables}: cannot listen on ${address} (${String(error.code)})`;
  const advice = 'set an address of this machine, and a port from 1024 on that is free';
  return new OperatorError(`${refusal}: ${advice}`, { cause: error });
}

/** How a process has ended; the text is for the operator. */
export interface ProcessEnd {
  readonly text: string;
  readonly status: ExitStatus;
}

/** Returns how a process ends because of this error. Only a defect has a stack. */
export function describeError(error: unknown): ProcessEnd {
  if (error instanceof OperatorError) return { text: error.message, status: error.status };
  // Errors of the system, such as ENOENT, name the file.
  const isKnown = error instanceof RepositoryUnavailableError || 'syscall' in Object(error);
  return { text: isKnown ? (error as Error).message : inspect(error), status: EXIT_STATUS.failed };
}
