import type { Command } from 'commander';
import { loadConfiguration } from '../config/load-configuration.js';
import { restore } from '../storage/sqlite/backup.js';
import { counted, JSON_OPTION, printSummary, type ReportOptions } from './command-line.js';
import { requireSqliteFile } from './open-store.js';

export function configure(command: Command): void {
  command
    .description('Copies a backup to the SQLite database of DATABASE_URL, which must not exist yet.')
    .argument('<file>', 'a backup that plant-store backup has made')
    .option(...JSON_OPTION)
    .addHelpText('after', '\nExample:\n  plant-store restore /backups/plants-2026-11-20.db')
    .action(run);
}

async function run(backup: string, options: ReportOptions): Promise<void> {
  const file = requireSqliteFile(
    loadConfiguration().databaseUrl,
    'fill a PostgreSQL database with plant-store import, or with pg_restore',
  );
  const plants = await restore(file, backup);
  printSummary({ file, backup, plants }, `${counted(plants, 'plant')} restored from ${backup} to ${file}`, options);
}
