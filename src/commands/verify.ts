import { createHash } from 'node:crypto';
import type { Command } from 'commander';
import { type Configuration, loadConfiguration, otherDatabase } from '../config/configuration.js';
import { EXIT_STATUS } from '../process/exit-status.js';
import type { PlantSnapshot } from '../storage/plant-repository.js';
import { compareSnapshots } from './data/compare-snapshots.js';
import { encodePlants } from './data/formats.js';
import { withProgress } from './data/progress.js';
import { openExistingSnapshot } from './open-store.js';
import { counted, JSON_OPTION, printSummary, type ReportOptions } from './report.js';

export function configure(command: Command): void {
  command
    .description(
      'Counts the plants of DATABASE_URL, and prints their SHA-256 as NDJSON, which is also the sha256sum of an export.\n' +
        'With another store, compares all plants, and names the first ids that differ; the exit status is then 3.',
    )
    .option('--against <url>', 'the other store; if the URL has a password, use OTHER_DATABASE_URL_FILE instead')
    .option(...JSON_OPTION)
    .addHelpText('after', '\nExample:\n  plant-store verify --against postgres://plants@db.example.com/plants')
    .action(run);
}

async function run(options: ReportOptions & { readonly against?: string }): Promise<void> {
  const configuration = loadConfiguration();
  const other = otherDatabase(configuration, '--against', options.against);
  const snapshot = await openExistingSnapshot(configuration.databaseUrl, 'DATABASE_URL', configuration);
  try {
    if (other === undefined) await digest(snapshot, options);
    else await compare(snapshot, other, configuration, options);
  } finally {
    await snapshot.close();
  }
}

async function digest(snapshot: PlantSnapshot, options: ReportOptions): Promise<void> {
  const hash = createHash('sha256');
  let plants = 0;
  await withProgress(
    'plants',
    () => snapshot.count(),
    async (update) => {
      for await (const page of snapshot.pages()) {
        hash.update(encodePlants(page, 'ndjson'));
        plants += page.length;
        update(plants);
      }
    },
  );
  const sha256 = hash.digest('hex');
  printSummary({ plants, sha256 }, `${counted(plants, 'plant')}, SHA-256 ${sha256}`, options);
}

async function compare(
  snapshot: PlantSnapshot,
  url: string,
  configuration: Configuration,
  options: ReportOptions & { readonly against?: string },
): Promise<void> {
  const variable = options.against === undefined ? 'OTHER_DATABASE_URL' : '--against';
  const other = await openExistingSnapshot(url, variable, configuration);
  try {
    const comparison = await withProgress(
      'plants',
      () => snapshot.count(),
      (update) => compareSnapshots(snapshot, other, update),
    );
    const { plants, against, differences, examples } = comparison;
    const { missing, additional, different } = differences;
    const isEqual = examples.length === 0;
    const first = examples.map(({ id, difference }) => `${id} (${difference})`).join(', ');
    printSummary(
      { equal: isEqual, ...comparison },
      isEqual
        ? `${counted(plants, 'plant')} in both stores`
        : `the stores differ: ${plants} and ${counted(against, 'plant')}, ${missing} missing, ` +
            `${additional} additional, ${different} different; the first ids: ${first}`,
      options,
    );
    if (!isEqual) process.exitCode = EXIT_STATUS.findings;
  } finally {
    await other.close();
  }
}
