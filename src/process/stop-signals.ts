import { CommandError } from './command-error.js';
import { EXIT_STATUS } from './exit-status.js';

/** Not SIGHUP, at which the service reloads its tokens. */
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** Ends a service that has nothing to close yet. */
export function exitStopped(): never {
  process.exit(EXIT_STATUS.done);
}

/** Ends a command that has nothing to clean up. */
export function exitInterrupted(): never {
  process.exit(EXIT_STATUS.interrupted);
}

type StopListener = (signal: NodeJS.Signals) => void;

/** Listens to the signals that stop a process. */
export function onStopSignals(listener: StopListener): void {
  for (const signal of SIGNALS) process.on(signal, listener);
}

/** Replaces the listener. The next one comes first, because a signal that has arrived is lost with the last listener. */
export function replaceStopListener({ old, next }: { readonly old: StopListener; readonly next: StopListener }): void {
  onStopSignals(next);
  for (const signal of SIGNALS) process.off(signal, old);
}

/**
 * Lets a command clean up before a signal ends it: the first signal aborts, and the second one ends the process at once.
 * The reason of the abort, when it is thrown, ends the program with the status of an interrupted command.
 */
export function abortOnSignals(): AbortSignal {
  const controller = new AbortController();
  const abort = (): void => {
    replaceStopListener({ old: abort, next: exitInterrupted });
    controller.abort(new CommandError('interrupted', EXIT_STATUS.interrupted));
  };
  replaceStopListener({ old: exitInterrupted, next: abort });
  // Sent when the terminal is closed.
  process.once('SIGHUP', abort);
  return controller.signal;
}
