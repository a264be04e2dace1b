import 'reflect-metadata';
import { inspect } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { Command, CommanderError } from 'commander';
import { EXIT_STATUS, OperatorError, withoutCredentials } from './operator-error.js';
import { explainWriteError } from './files/file-errors.js';
import { onSignals } from './process/signals.js';
import { readVersion } from './process/version.js';
import { RepositoryUnavailableError } from './storage/plant-repository.js';

// V8's pretenuring moves requests that wait for their batch to old space, and full collections then cost a fifth of the
// CPU.
setFlagsFromString('--no-allocation-site-pretenuring');

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

/** Runs the command that the parameters name. */
async function run([name = 'start', ...parameters]: readonly string[]): Promise<void> {
  // Only the user of the program can read the files that it creates.
  process.umask(0o077);
  process.stderr.on('error', () => undefined);
  if (name === 'start') prepareService();
  else prepareCommand();
  const program = new Command('plant-store')
    .description('A service that stores plants, and the commands to operate it. DATABASE_URL names the store.')
    .version(readVersion(), '--version', 'print the version')
    .helpCommand(false)
    .exitOverride()
    .configureOutput({
      outputError: (text, write) => write(withoutCredentials(text.replace(/^error: /, 'plant-store: '))),
    })
    .addHelpText('after', '\nExample:\n  plant-store export plants.ndjson')
    // Commander knows only names and summaries at first, so `--help` loads no command. Before it parses the parameters
    // of a command, this hook loads the file of the command, which adds its options, help and action.
    .hook('preSubcommand', async (_, command) => {
      const file = await COMMANDS[command.name()]?.load();
      file?.configure(command);
    });
  for (const [command, { summary }] of Object.entries(COMMANDS)) program.command(command).summary(summary);
  await program.parseAsync([name, ...parameters], { from: 'user' });
}

/**
 * Lets the service go on without the reader of its log. Until it serves, a signal ends it, and there is nothing to
 * reload.
 */
function prepareService(): void {
  process.stdout.on('error', () => undefined);
  onSignals({ stop: () => process.exit(EXIT_STATUS.done), reload: () => undefined });
}

/**
 * Lets a command end at a signal, and when its output has no reader. At the event `exit`, it removes what is
 * unfinished.
 */
function prepareCommand(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(EXIT_STATUS.interrupted));
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // A reader such as head has read enough.
    if (error.code === 'EPIPE') process.exit(EXIT_STATUS.done);
    fail(explainWriteError('stdout', error));
  });
}

/**
 * Prints an error, and ends the program at once: a database connection that failed to open could keep the process
 * alive. Only a defect is printed with its stack.
 */
function fail(error: unknown): never {
  // Commander has printed its own error.
  if (error instanceof CommanderError) process.exit(error.exitCode === 0 ? EXIT_STATUS.done : EXIT_STATUS.badUsage);
  // Errors of the system, such as ENOENT, name the file.
  const isKnown =
    error instanceof OperatorError || error instanceof RepositoryUnavailableError || 'syscall' in Object(error);
  // A configuration may have several faults, each in a line of its own.
  const text = isKnown ? (error as Error).message.replaceAll('\n', '\nplant-store: ') : inspect(error);
  process.stderr.write(`plant-store: ${withoutCredentials(text)}\n`);
  process.exit(error instanceof OperatorError ? error.status : EXIT_STATUS.failed);
}

await run(process.argv.slice(2)).catch(fail);
