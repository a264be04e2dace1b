import cliProgress from 'cli-progress';
import { Command } from 'commander';
import { ConfigurationError, loadConfiguration } from '../config/configuration.js';
import { backUp, NoBackupError } from '../storage/backup.js';

/** Exit statuses, as for the service. */
const FAILED = 1;
const BAD_COMMAND = 2;

let interrupted = false;

async function run(target: string): Promise<void> {
  const { databaseUrl } = loadConfiguration();
  // Only shown on a terminal.
  const bar = new cliProgress.SingleBar({ format: '{bar} {percentage} %', stream: process.stderr });
  let count: number;
  bar.start(100, 0);
  try {
    count = await backUp(databaseUrl, target, (part) => {
      if (interrupted) throw new Error('interrupted: no backup was made');
      bar.update(Math.floor(100 * part));
    });
    bar.update(100);
  } finally {
    bar.stop();
  }
  process.stderr.write(`${target} is a backup of ${count} plants\n`);
}

// Only the user who makes the copy can read it.
process.umask(0o077);
// An interrupted backup removes its incomplete file.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => (interrupted = true));

try {
  await new Command('npm run backup --')
    .description('Copies the SQLite database of DATABASE_URL to a new file, while the service runs.')
    .argument('<file>', 'the file to create; it must not exist')
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : BAD_COMMAND))
    .action(run)
    .parseAsync();
} catch (error) {
  process.stderr.write(`backup: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = error instanceof ConfigurationError || error instanceof NoBackupError ? BAD_COMMAND : FAILED;
}
