import { EXIT_STATUS } from './exit-status.js';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** Ends a service that has nothing to close yet. */
export function exitStopped(): never {
  process.exit(EXIT_STATUS.done);
}

/** Ends a command that has nothing to clean up. */
export function exitInterrupted(): never {
  process.exit(EXIT_STATUS.interrupted);
}

/** Sets what the signals that stop a process do. */
export function onStopSignals(listener: (signal: NodeJS.Signals) => void): void {
  for (const signal of SIGNALS) {
    const previous = process.listeners(signal);
    // Added first: without a listener, a signal would kill the process.
    process.on(signal, listener);
    for (const old of previous) process.off(signal, old);
  }
}
