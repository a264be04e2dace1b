import { CommandError } from './command-error.js';
import { EXIT_STATUS } from './exit-status.js';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** Sets what the signals that stop a process do. */
export function onStopSignals(listener: (signal: NodeJS.Signals) => void): void {
  for (const signal of SIGNALS) {
    const previous = process.listeners(signal);
    // Added first: without a listener, a signal would kill the process.
    process.on(signal, listener);
    for (const old of previous) process.off(signal, old);
  }
}

/**
 * Lets a command clean up before a signal ends it: the first signal aborts, and the second one ends the process at once.
 * The reason of the abort, when it is thrown, ends the program with the status of an interrupted command.
 */
export function abortOnSignals(): AbortSignal {
  const controller = new AbortController();
  const abort = (): void => {
    onStopSignals(() => process.exit(EXIT_STATUS.interrupted));
    controller.abort(new CommandError('interrupted', EXIT_STATUS.interrupted));
  };
  onStopSignals(abort);
  // Sent when the terminal is closed.
  process.once('SIGHUP', abort);
  return controller.signal;
}
