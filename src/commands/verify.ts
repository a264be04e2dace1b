import type { Command } from 'commander';
import { type Configuration, loadConfiguration, otherDatabase } from '../config/configuration.js';
import { EXIT_STATUS } from '../process/exit-status.js';
import type { PlantSnapshot } from '../storage/plant-repository.js';
import { compareSnapshots, describeDifferences, type Digest, digestOf } from './data/compare-snapshots.js';
import { showProgress } from './data/progress.js';
import { openExistingSnapshot } from './open-store.js';
import { counted, JSON_OPTION, printSummary, type ReportOptions } from './report.js';

export function configure(command: Command): void {
  command
    .description(
      'Counts the plants of DATABASE_URL, and prints their SHA-256 as NDJSON, which is also the sha256sum of an export.\n' +
        'With another store, names the first ids that differ; the exit status is then 3.',
    )
    .option('--against <url>', 'the other store; if the URL has a password, use OTHER_DATABASE_URL_FILE instead')
    .option(...JSON_OPTION)
    .addHelpText('after', '\nExample:\n  plant-store verify --against postgres://plants@db.example.com/plants')
    .action(run);
}

async function run(options: ReportOptions & { readonly against?: string }): Promise<void> {
  const configuration = loadConfiguration();
  const { databaseUrl } = configuration;
  const other = otherDatabase(configuration, '--against', options.against);
  await withSnapshot(databaseUrl, 'DATABASE_URL', configuration, async (snapshot) => {
    const digest = await digestWithProgress(snapshot);
    const words = `${counted(digest.plants, 'plant')}, SHA-256 ${digest.sha256}`;
    if (other === undefined) {
      printSummary(digest, words, options);
      return;
    }
    await withSnapshot(
      other,
      options.against === undefined ? 'OTHER_DATABASE_URL' : '--against',
      configuration,
      (second) => compare(snapshot, digest, second, options),
    );
  });
}

async function compare(
  snapshot: PlantSnapshot,
  digest: Digest,
  other: PlantSnapshot,
  options: ReportOptions,
): Promise<void> {
  const otherDigest = await digestWithProgress(other);
  const isEqual = digest.sha256 === otherDigest.sha256;
  const comparison = isEqual
    ? { differences: { missing: 0, additional: 0, different: 0 }, examples: [] }
    : await compareSnapshots(snapshot, other);
  const summary = { ...digest, against: otherDigest, equal: isEqual, ...comparison };
  const words = isEqual
    ? `${counted(digest.plants, 'plant')} in both stores, SHA-256 ${digest.sha256}`
    : `the stores differ: ${digest.plants} and ${counted(otherDigest.plants, 'plant')}, ${describeDifferences(comparison)}`;
  printSummary(summary, words, options);
  if (!isEqual) process.exitCode = EXIT_STATUS.differences;
}

async function digestWithProgress(snapshot: PlantSnapshot): Promise<Digest> {
  const progress = await showProgress('plants', () => snapshot.count());
  try {
    return await digestOf(snapshot, (plants) => progress.update(plants));
  } finally {
    progress.stop();
  }
}

async function withSnapshot(
  url: string,
  variable: string,
  configuration: Configuration,
  work: (snapshot: PlantSnapshot) => Promise<void>,
): Promise<void> {
  const snapshot = await openExistingSnapshot(url, variable, configuration);
  try {
    await work(snapshot);
  } finally {
    await snapshot.close();
  }
}
