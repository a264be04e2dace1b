import type { Command } from 'commander';
import { loadConfiguration } from '../config/configuration.js';
import { CommandError } from '../process/command-error.js';
import { EXIT_STATUS } from '../process/exit-status.js';
import { abortOnSignals } from '../process/stop-signals.js';
import { withProgress } from './data/progress.js';
import { counted, JSON_OPTION, printSummary, type ReportOptions } from './report.js';

export function configure(command: Command): void {
  command
    .description('Copies the SQLite database of DATABASE_URL to a new file, while the service runs.')
    .argument('<file>', 'the file to create; it must not exist')
    .option(...JSON_OPTION)
    .addHelpText('after', '\nExample:\n  plant-store backup /backups/plants-2026-11-20.db')
    .action(run);
}

async function run(target: string, options: ReportOptions): Promise<void> {
  const { databaseUrl } = loadConfiguration();
  const { backUp, BackupError, NoBackupError } = await import('../storage/backup.js');
  const signal = abortOnSignals();
  let plants: number;
  try {
    plants = await withProgress(
      '%',
      () => 100,
      (update) =>
        backUp(databaseUrl, target, (part) => {
          signal.throwIfAborted();
          update(100 * part);
        }),
    );
  } catch (error) {
    if (error instanceof NoBackupError) throw new CommandError(error.message, EXIT_STATUS.badUsage, { cause: error });
    throw error instanceof BackupError ? new CommandError(error.message, EXIT_STATUS.failed, { cause: error }) : error;
  }
  printSummary({ file: target, plants }, `${target} is a backup of ${counted(plants, 'plant')}`, options);
}
