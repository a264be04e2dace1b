import { OperatorError } from '../operator-error.js';
import { inUrl } from './addresses.js';

/** Advice about the errors of `listen`, by their codes. */
const ADVICE: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use: is the service already running? Otherwise, set another port',
  EACCES: 'this user may not use the port: set one from 1024 on',
  EADDRNOTAVAIL: 'set an address of this machine',
  ENOTFOUND: 'the host name cannot be resolved: set an address of this machine',
  EAI_AGAIN: 'the host name cannot be resolved at the moment: try again, or set an address of this machine',
};

/** Explains an error of the system that refuses an address, and names its variables. Returns other errors as they are. */
export function explainListenError(variables: string, host: string, port: number, error: unknown): unknown {
  if (!(error instanceof Error) || !('syscall' in error) || !('code' in error)) return error;
  const code = String(error.code);
  const advice = ADVICE[code] ?? 'set an address of this machine, and a port that is free';
  const address = `${inUrl(host)}:${port}`;
  return new OperatorError(`${variables}: cannot listen on ${address} (${code}): ${advice}`, { cause: error });
}
