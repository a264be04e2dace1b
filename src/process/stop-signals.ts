import { CommandError } from './command-error.js';
import { EXIT_STATUS } from './exit-status.js';

/** Not SIGHUP, at which the service reloads its tokens. */
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** Ends a service that has nothing to close yet. */
export function exitStopped(): void {
  process.exit(EXIT_STATUS.done);
}

/** Ends a command that has nothing to clean up. */
export function exitInterrupted(): void {
  process.exit(EXIT_STATUS.interrupted);
}

/**
 * Listens to the signals that stop a process.
 *
 * @param replaced the listener until now, which is removed
 */
export function onStopSignals(
  listener: (signal: NodeJS.Signals) => void,
  replaced?: (signal: NodeJS.Signals) => void,
): void {
  for (const signal of SIGNALS) {
    process.on(signal, listener);
    // Afterwards, because a signal that has arrived is lost with the last listener.
    if (replaced !== undefined) process.off(signal, replaced);
  }
}

/**
 * Lets a command clean up before a signal ends it: the first signal aborts, and the second one ends the process at once.
 * The reason of the abort, when it is thrown, ends the program with the status of an interrupted command.
 */
export function abortOnSignals(): AbortSignal {
  const controller = new AbortController();
  const abort = (): void => {
    onStopSignals(exitInterrupted, abort);
    controller.abort(new CommandError('interrupted', EXIT_STATUS.interrupted));
  };
  onStopSignals(abort, exitInterrupted);
  // Sent when the terminal is closed.
  process.once('SIGHUP', abort);
  return controller.signal;
}
