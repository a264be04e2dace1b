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
