import { inspect } from 'node:util';
import { EXIT_STATUS, type ExitStatus, OperatorError } from '../operator-error.js';
import { RepositoryUnavailableError } from '../storage/plant-repository.js';
import { withoutCredentials } from '../without-credentials.js';

/** Advice about the errors of `listen`, by their codes. */
const ADVICE: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use: is the service already running? Otherwise, set another port',
  EACCES: 'this user may not use the port: set one from 1024 on',
  EADDRNOTAVAIL: 'set an address of this machine',
  ENOTFOUND: 'the host name cannot be resolved: set an address of this machine',
  EAI_AGAIN: 'the host name cannot be resolved at the moment: try again, or set an address of this machine',
};

/** Adds the variables that set an address to the error of the system that refuses it. Other errors stay as they are. */
export function addressError(variables: string, address: string, error: unknown): unknown {
  if (!(error instanceof Error) || !('syscall' in error) || !('code' in error)) return error;
  const code = String(error.code);
  const advice = ADVICE[code] ?? 'set an address of this machine, and a port that is free';
  return new OperatorError(`${variables}: cannot listen on ${address} (${code}): ${advice}`, { cause: error });
}

/** How a process has ended; the text is for the operator. */
interface ProcessEnd {
  readonly text: string;
  readonly status: ExitStatus;
}

/** Returns how a process ends because of this error. Only a defect has a stack. */
export function describeError(error: unknown): ProcessEnd {
  if (error instanceof OperatorError) return { text: withoutCredentials(error.message), status: error.status };
  // Errors of the system, such as ENOENT, name the file.
  const isKnown = error instanceof RepositoryUnavailableError || 'syscall' in Object(error);
  const text = isKnown ? (error as Error).message : inspect(error);
  return { text: withoutCredentials(text), status: EXIT_STATUS.failed };
}
