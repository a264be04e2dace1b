import { isatty } from 'node:tty';

const STDIN = 0;

/**
 * Milliseconds in which SIGINT again is still the same Ctrl+C. The terminal sends SIGINT to `npm start` and to the
 * service, and npm passes its own on to the service. https://github.com/npm/run-script (lib/signal-manager.js)
 */
const REPEAT_TIME = 250;

/** The terminal may close later: isatty then returns false. */
const hadTerminal = isatty(STDIN);

/** Reactions of the process to signals. */
interface Reactions {
  /** For SIGINT and SIGTERM, and for SIGHUP because the terminal of the process was closed. */
  stop(signal: NodeJS.Signals): void;
  /** For any other SIGHUP. */
  reload(): void;
}

let reactions: Reactions | undefined;
let lastInterrupt = -Infinity;

/** Sets what signals do from now on: first in main.ts, and in start.ts when the service serves. */
export function onSignals(next: Reactions): void {
  // These listeners stay: without one, a signal would kill the process.
  if (reactions === undefined) for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, react);
  reactions = next;
}

function react(signal: NodeJS.Signals): void {
  // SIGHUP has two meanings: reload, or that the terminal was closed.
  const meansReload = signal === 'SIGHUP' && !isTerminalClosed();
  if (meansReload) reactions?.reload();
  else if (!isRepeated(signal)) reactions?.stop(signal);
}

function isTerminalClosed(): boolean {
  return hadTerminal && !isatty(STDIN);
}

/** Returns whether this is the Ctrl+C that the process has already had. */
function isRepeated(signal: NodeJS.Signals): boolean {
  if (signal !== 'SIGINT') return false;
  const at = performance.now();
  if (at - lastInterrupt < REPEAT_TIME) return true;
  lastInterrupt = at;
  return false;
}
