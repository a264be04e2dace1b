import type { Command } from 'commander';
import { ConfigurationError, loadConfiguration, otherDatabase } from '../config/configuration.js';
import { EXIT_STATUS } from '../process/exit-status.js';
import { collectEarlier } from '../process/heap.js';
import { abortOnSignals } from '../process/stop-signals.js';
import { isSameDatabase } from '../storage/engines.js';
import type { PlantRepository, PlantSnapshot } from '../storage/plant-repository.js';
import { type Comparison, compareSnapshots, describeDifferences } from '../transfer/compare-snapshots.js';
import { PlantWriter } from '../transfer/plant-writer.js';
import { openExistingSnapshot, openStore } from './open-store.js';
import { counted, JSON_OPTION, printSummary, type ReportOptions, showProgress } from './report.js';

export function configure(command: Command): void {
  command
    .description(
      'Copies all plants of DATABASE_URL, as they are at one moment, to another store, while services run on both, and ' +
        'compares the stores. It adds missing plants, so it can run again. If an id belongs to another plant there, ' +
        'the exit status is 3.',
    )
    .option('--to <url>', 'the other store; if the URL has a password, use OTHER_DATABASE_URL_FILE instead')
    .option(...JSON_OPTION)
    .addHelpText('after', '\nExample:\n  plant-store copy --to postgres://plants@db.example.com/plants')
    .action(run);
}

async function run(options: ReportOptions & { readonly to?: string }): Promise<void> {
  collectEarlier();
  const configuration = loadConfiguration();
  const { databaseUrl, databaseStartTimeout } = configuration;
  const target = otherDatabase(configuration, '--to', options.to);
  if (target === undefined) throw new ConfigurationError('name the other store: set --to or OTHER_DATABASE_URL');
  const variable = options.to === undefined ? 'OTHER_DATABASE_URL' : '--to';
  if (isSameDatabase(databaseUrl, target)) {
    throw new ConfigurationError(`DATABASE_URL and ${variable} name the same store`);
  }
  const snapshot = await openExistingSnapshot(databaseUrl, 'DATABASE_URL', configuration);
  try {
    const repository = await openStore(target, variable, configuration);
    // Only now, because a signal ends the wait for a server at once.
    const signal = abortOnSignals();
    try {
      const writer = new PlantWriter(repository, databaseStartTimeout, signal);
      const plants = await copy(snapshot, writer, signal);
      const comparison = await compare(snapshot, repository, plants, signal);
      report(plants, writer, comparison, options);
    } finally {
      await repository.close();
    }
  } finally {
    await snapshot.close();
  }
}

/** Returns the number of plants in the snapshot. */
async function copy(snapshot: PlantSnapshot, writer: PlantWriter, signal: AbortSignal): Promise<number> {
  const progress = await showProgress('plants copied', () => snapshot.count());
  let plants = 0;
  try {
    for await (const page of snapshot.pages()) {
      await writer.add(page);
      plants += page.length;
      progress.update(plants);
      signal.throwIfAborted();
    }
    return plants;
  } finally {
    progress.stop();
    await writer.finish();
  }
}

async function compare(
  snapshot: PlantSnapshot,
  repository: PlantRepository,
  plants: number,
  signal: AbortSignal,
): Promise<Comparison> {
  const progress = await showProgress('plants compared', () => plants);
  const copied = await repository.snapshot();
  try {
    return await compareSnapshots(snapshot, copied, (count) => {
      signal.throwIfAborted();
      progress.update(count);
    });
  } finally {
    progress.stop();
    await copied.close();
  }
}

function report(plants: number, { counts }: PlantWriter, comparison: Comparison, options: ReportOptions): void {
  const { missing, additional, different } = comparison.differences;
  const { created, repeated } = counts;
  // The other store may have plants of its own.
  const isCopied = missing === 0 && different === 0;
  const outcome = isCopied ? 'the copy is complete' : `the stores differ: ${describeDifferences(comparison)}`;
  const own = isCopied && additional > 0 ? `; the other store has ${additional} more` : '';
  printSummary(
    { plants, created, repeated, ...comparison, complete: isCopied },
    `${counted(plants, 'plant')}: ${created} copied, ${repeated} there already; ${outcome}${own}`,
    options,
  );
  if (!isCopied) process.exitCode = EXIT_STATUS.differences;
}
