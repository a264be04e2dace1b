import { isatty } from 'node:tty';

/**
 * Milliseconds in which a signal counts once. The terminal sends SIGINT or SIGHUP to the service, and npm or the shell,
 * which get it, too, pass it on.
 */
const REPEAT_TIME = 250;

/** True if the process started on a terminal. When the terminal closes, isatty returns false. */
const hadTerminal = isatty(0);

/** The reactions of the program to signals. */
interface Reactions {
  /** Called for SIGINT and SIGTERM, and for SIGHUP if the terminal of the process was closed. */
  stop(signal: NodeJS.Signals): void;
  /** Called for any other SIGHUP. */
  reload(): void;
}

let reactions: Reactions | undefined;
let latestStop: { readonly signal: NodeJS.Signals; readonly at: number } | undefined;

/** Sets what the service does at signals from now on: main.ts sets the first reactions, and service.ts others. */
export function onSignals(next: Reactions): void {
  // These listeners stay: without one, a signal would kill the process.
  if (reactions === undefined) for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, react);
  reactions = next;
}

function react(signal: NodeJS.Signals): void {
  const isTerminalClosed = hadTerminal && !isatty(0);
  if (signal === 'SIGHUP' && !isTerminalClosed) {
    reactions?.reload();
    return;
  }
  const at = performance.now();
  if (signal === latestStop?.signal && at - latestStop.at < REPEAT_TIME) return;
  latestStop = { signal, at };
  reactions?.stop(signal);
}
