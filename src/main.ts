import { Command, CommanderError } from 'commander';
import { describeError } from './process/describe-error.js';
import { EXIT_STATUS, type ExitStatus } from './process/exit-status.js';
import { exitInterrupted, exitStopped, onStopSignals } from './process/stop-signals.js';
import { readVersion } from './config/version.js';

/** Each command is in a file of its own, which adds its options, help and action when it is used. */
interface CommandFile {
  configure(command: Command): void;
}

const COMMANDS: Readonly<Record<string, readonly [summary: string, load: () => Promise<CommandFile>]>> = {
  start: ['start the service; this is the default', () => import('./commands/start.js')],
  token: ['create, list and revoke static tokens', () => import('./commands/token.js')],
  backup: ['copy a SQLite store to a file, while the service runs', () => import('./commands/backup.js')],
  restore: ['fill an empty SQLite store from a backup', () => import('./commands/restore.js')],
  export: ['write all plants as NDJSON or CSV', () => import('./commands/export.js')],
  import: ['add plants from NDJSON or CSV', () => import('./commands/import.js')],
  copy: ['copy all plants to another store', () => import('./commands/copy.js')],
  verify: ['count and digest the plants, or compare two stores', () => import('./commands/verify.js')],
  health: ['ask the running service whether it is alive or ready', () => import('./commands/health.js')],
  check: ['check everything that a start needs', () => import('./commands/check.js')],
  worker: ['serve the public port for start', () => import('./commands/worker.js')],
};

/** The part of `start` that runs in a process of its own; people do not use it. */
const WORKER = 'worker';

const parameters = process.argv.slice(2);
if (parameters.length === 0) parameters.push('start');
const isService = parameters[0] === 'start' || parameters[0] === WORKER;
// Only the user of the program can read the files that it creates.
process.umask(0o077);
onStopSignals(isService ? exitStopped : exitInterrupted);
// Losing the reader of its log must not stop the service. A command ends: its reader, such as head, has read enough.
process.stdout.on('error', (error: Error) => {
  if (!isService) process.exit('code' in error && error.code === 'EPIPE' ? EXIT_STATUS.done : report(error));
});
process.stderr.on('error', () => undefined);

const program = new Command('plant-store')
  .description('A service that stores plants, and the commands to operate it. DATABASE_URL names the store.')
  .version(readVersion(), '--version', 'print the version')
  .helpCommand(false)
  .exitOverride()
  .configureOutput({ outputError: (text, write) => write(withoutValue(text.replace(/^error: /, 'plant-store: '))) })
  .addHelpText('after', '\nExample:\n  plant-store export plants.ndjson')
  .hook('preSubcommand', async (_, command) => (await COMMANDS[command.name()]?.[1]())?.configure(command));
for (const [name, [summary]] of Object.entries(COMMANDS)) {
  program.command(name, { hidden: name === WORKER }).summary(summary);
}

try {
  await program.parseAsync(parameters, { from: 'user' });
} catch (error) {
  // Exit explicitly: a database connection that failed to open may otherwise keep the process alive.
  process.exit(report(error));
}

/** Removes the value of a misspelled option, which may be a URL with a password. */
function withoutValue(text: string): string {
  return text.replace(/(unknown option '[^'=]*)=.*'/, "$1'");
}

/** Prints an error, and returns the exit status. */
function report(error: unknown): ExitStatus {
  // Commander has printed its own errors.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_STATUS.done : EXIT_STATUS.badUsage;
  const { text, status } = describeError(error);
  process.stderr.write(`plant-store: ${text}\n`);
  return status;
}
