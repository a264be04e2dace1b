import type { Command } from 'commander';
import { loadConfiguration } from '../config/load-configuration.js';
import { backUp } from '../storage/sqlite/backup.js';
import { counted, JSON_OPTION, printSummary, type ReportOptions } from './command-line.js';
import { requireSqliteFile } from './open-store.js';

export function configure(command: Command): void {
  command
    .description('Copies the SQLite database of DATABASE_URL to a new file, while the service runs.')
    .argument('<file>', 'the file to create; it must not exist')
    .option(...JSON_OPTION)
    .addHelpText('after', '\nExample:\n  plant-store backup /backups/plants-2026-11-20.db')
    .action(run);
}

async function run(target: string, options: ReportOptions): Promise<void> {
  const file = requireSqliteFile(
    loadConfiguration().databaseUrl,
    'back up PostgreSQL with its own tools: pg_dump, or pg_basebackup',
  );
  const plants = await backUp(file, target);
  printSummary({ file: target, plants }, `${target} is a backup of ${counted(plants, 'plant')}`, options);
}
