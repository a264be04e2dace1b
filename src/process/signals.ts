import { isatty } from 'node:tty';

const STDIN = 0;

/**
 * Milliseconds in which another SIGINT is still the same Ctrl+C. The terminal sends SIGINT to `npm start` and to the
 * service, and npm forwards its SIGINT to the service: https://github.com/npm/run-script (lib/signal-manager.js)
 */
const REPEAT_TIME = 250;

/** True if the process started on a terminal. When the terminal closes, isatty returns false. */
const hadTerminal = isatty(STDIN);

/** Reactions of the process to signals. */
interface Reactions {
  /** Called for SIGINT and SIGTERM, and for SIGHUP if the terminal of the process was closed. */
  stop(signal: NodeJS.Signals): void;
  /** Called for any other SIGHUP. */
  reload(): void;
}

let reactions: Reactions | undefined;
let lastInterrupt = -Infinity;

/** Sets the reactions to signals from now on. main.ts sets the first ones, and start-stop.ts others when the service serves. */
export function onSignals(next: Reactions): void {
  // These listeners stay: without one, a signal would kill the process.
  if (reactions === undefined) for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, react);
  reactions = next;
}

function react(signal: NodeJS.Signals): void {
  // SIGHUP means that the terminal was closed, or that an operator wants a reload.
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
