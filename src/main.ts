import 'reflect-metadata';
import { setFlagsFromString } from 'node:v8';
import { Command, CommanderError } from 'commander';
import { EXIT_STATUS, type ExitStatus, OperatorError } from './operator-error.js';
import { explainWriteError } from './files/file-errors.js';
import { describeError } from './process/describe-error.js';
import { onSignals } from './process/signals.js';
import { readVersion } from './process/version.js';
import { withoutCredentials } from './operator-text.js';

/** A command, whose file is loaded only when it is used. */
interface CommandEntry {
  readonly summary: string;
  load(): Promise<{ configure(command: Command): void }>;
}

const COMMANDS: Readonly<Record<string, CommandEntry>> = {
  start: { summary: 'start the service; this is the default', load: () => import('./commands/start.js') },
  token: { summary: 'create, list and revoke static tokens', load: () => import('./commands/token.js') },
  backup: {
    summary: 'copy a SQLite store to a file, while the service runs',
    load: () => import('./commands/backup.js'),
  },
  restore: { summary: 'create a SQLite store from a backup', load: () => import('./commands/restore.js') },
  export: { summary: 'write all plants as NDJSON or CSV', load: () => import('./commands/export.js') },
  import: { summary: 'add plants from NDJSON or CSV', load: () => import('./commands/import.js') },
  verify: { summary: 'count and digest the plants', load: () => import('./commands/verify.js') },
  check: {
    summary: 'check the configuration and its files, and read the database',
    load: () => import('./commands/check.js'),
  },
};

/**
 * Node's exit status if the last `await` of this file waits for a promise that never settles: a driver has lost it. Node 20
 * prints nothing then, and later versions only name a line of this program: https://nodejs.org/api/process.html#exit-codes
 */
const UNSETTLED = 13;

/** Runs the command that the arguments name. */
async function run(): Promise<void> {
  const parameters = process.argv.slice(2);
  if (parameters.length === 0) parameters.push('start');
  const isService = parameters[0] === 'start';
  // Only the user of the program can read the files that it creates.
  process.umask(0o077);
  handleEnds(isService);

  const program = new Command('plant-store')
    .description('A service that stores plants, and the commands to operate it. DATABASE_URL names the store.')
    .version(readVersion(), '--version', 'print the version')
    .helpCommand(false)
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(withoutValue(text.replace(/^error: /, 'plant-store: '))) })
    .addHelpText('after', '\nExample:\n  plant-store export plants.ndjson')
    // Commander knows only names and summaries at first, so `--help` loads no command. Before it parses the arguments of a
    // command, this hook adds the options of that command.
    .hook('preSubcommand', (_, command) => configureCommand(command));
  for (const [name, { summary }] of Object.entries(COMMANDS)) {
    program.command(name).summary(summary);
  }

  await program.parseAsync(parameters, { from: 'user' }).catch(fail);
}

/** Loads the file of a command, which adds its options, help and action. */
async function configureCommand(command: Command): Promise<void> {
  const file = await COMMANDS[command.name()]?.load();
  file?.configure(command);
}

/** Removes the value of an unknown option such as `--tokn=secret`, and credentials in a URL that is no command. */
function withoutValue(text: string): string {
  return withoutCredentials(text.replace(/(unknown option '[^'=]*)=.*'/, "$1'"));
}

/** Sets how the program ends: at a signal, if its output has no reader, and if a promise never settles. */
function handleEnds(isService: boolean): void {
  const end = (): void => process.exit(isService ? EXIT_STATUS.done : EXIT_STATUS.interrupted);
  // SIGHUP ends a command. A service ignores SIGHUP while it starts, and then reloads its files.
  onSignals({ stop: end, reload: isService ? () => undefined : end });
  process.stdout.on('error', (error: Error) => {
    // Losing the reader of its log must not stop the service.
    if (isService) return;
    // A reader such as head has read enough, so the command ends.
    if ('code' in error && error.code === 'EPIPE') process.exit(EXIT_STATUS.done);
    fail(explainWriteError('stdout', error));
  });
  process.stderr.on('error', () => undefined);
  process.on('exit', () => {
    if (process.exitCode !== UNSETTLED) return;
    process.exitCode = report(new OperatorError('the program has ended before its work was done'));
  });
}

/** Ends the program at once after an error: a database connection that failed to open could keep the process alive. */
function fail(error: unknown): never {
  process.exit(report(error));
}

/** Prints an error, and returns the exit status. */
function report(error: unknown): ExitStatus {
  // Commander has printed its own error.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_STATUS.done : EXIT_STATUS.badUsage;
  const { text, status } = describeError(error);
  process.stderr.write(`plant-store: ${text}\n`);
  return status;
}

// V8's pretenuring moves requests that wait for their batch to old space, and full collections then cost a fifth of the CPU.
setFlagsFromString('--no-allocation-site-pretenuring');

await run();
