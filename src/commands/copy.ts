import type { Command } from 'commander';
import { loadConfiguration } from '../config/configuration.js';
import { badUsage, EXIT_STATUS } from '../contract/operator-error.js';
import { inBatches } from './data/batches.js';
import { PlantWriter } from './data/plant-writer.js';
import { withProgress } from './data/progress.js';
import { openExistingSnapshot, openStore } from './open-store.js';
import { counted, JSON_OPTION, MAX_EXAMPLES, printSummary, type ReportOptions } from './report.js';

export function configure(command: Command): void {
  command
    .description(
      'Copies all plants of DATABASE_URL, as they are at one moment, to another store, while services run on both. It ' +
        'adds missing plants, so it can run again. If an id belongs to another plant there, the exit status is 3.',
    )
    .option('--to <url>', 'the other store; if the URL has a password, use OTHER_DATABASE_URL_FILE instead')
    .option(...JSON_OPTION)
    .addHelpText('after', '\nExample:\n  plant-store copy --to postgres://plants@db.example.com/plants')
    .action(run);
}

async function run(options: ReportOptions & { readonly to?: string }): Promise<void> {
  const configuration = loadConfiguration({ OTHER_DATABASE_URL: options.to });
  const { databaseUrl, otherDatabaseUrl } = configuration;
  if (otherDatabaseUrl === undefined) throw badUsage('set --to or OTHER_DATABASE_URL to the other store');
  if (databaseUrl === otherDatabaseUrl) {
    throw badUsage('DATABASE_URL and the other store name the same store');
  }
  const snapshot = await openExistingSnapshot(databaseUrl, configuration);
  const repository = await openStore(otherDatabaseUrl, configuration);
  const writer = new PlantWriter(repository);
  const examples: bigint[] = [];
  for await (const page of withProgress(inBatches(snapshot.plants()), 'plants', () => snapshot.count())) {
    const conflicts = await writer.add(page);
    examples.push(...conflicts.slice(0, MAX_EXAMPLES - examples.length).map(({ id }) => id));
  }
  await repository.close();
  await snapshot.close();
  const { created, repeated, conflict } = writer.outcomes;
  const isComplete = conflict === 0;
  const outcome = isComplete
    ? 'the copy is complete'
    : `${counted(conflict, 'conflict')}: other plants have these ids, such as ${examples.join(', ')}`;
  printSummary(
    { plants: writer.count, created, repeated, conflict, examples, complete: isComplete },
    `${counted(writer.count, 'plant')}: ${created} copied, ${repeated} there already; ${outcome}`,
    options,
  );
  if (!isComplete) process.exitCode = EXIT_STATUS.findings;
}
