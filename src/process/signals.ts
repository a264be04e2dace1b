import { isatty } from 'node:tty';

const STDIN = 0;

/** The terminal may close later: isatty then returns false. */
const hadTerminal = isatty(STDIN);

interface Reactions {
  readonly stop: (signal: NodeJS.Signals) => void;
  readonly reload: () => void;
}

let reactions: Reactions | undefined;

/**
 * Sets what signals do from now on, instead of what was set before. In the life of a service, SIGTERM:
 *
 * - ends it at once while it starts (`main.ts`)
 * - begins its stop while it serves (`run` and `runWorker` of service.ts)
 * - ends it at once while it stops (`limitStop` of service.ts); a worker that stops ignores it
 *
 * @param stop what SIGINT and SIGTERM do, and SIGHUP because the terminal of the process was closed
 * @param reload what any other SIGHUP does
 */
export function onSignals(stop: Reactions['stop'], reload: Reactions['reload'] = () => undefined): void {
  // These listeners stay: without one, a signal would kill the process.
  if (reactions === undefined) for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, react);
  reactions = { stop, reload };
}

function react(signal: NodeJS.Signals): void {
  const isReload = signal === 'SIGHUP' && !(hadTerminal && !isatty(STDIN));
  if (isReload) reactions?.reload();
  else reactions?.stop(signal);
}
