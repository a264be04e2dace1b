import { createHash } from 'node:crypto';
import type { Command } from 'commander';
import { loadConfiguration } from '../config/configuration.js';
import { EXIT_STATUS } from '../contract/operator-error.js';
import { FIELD_NAMES } from '../contract/plant-fields.js';
import type { StoredPlant } from '../storage/plant-repository.js';
import { inBatches } from './data/batches.js';
import { encodePlants } from './data/formats.js';
import { withProgress } from './data/progress.js';
import { openExistingSnapshot } from './open-store.js';
import { counted, JSON_OPTION, MAX_EXAMPLES, printSummary, type ReportOptions } from './report.js';

/** Stands behind the last plant of a store: its id is greater than all others. */
const END: StoredPlant = { id: 2n ** 63n, name: '' };

type Pages = AsyncIterable<readonly StoredPlant[]>;

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
  const configuration = loadConfiguration({ OTHER_DATABASE_URL: options.against });
  const { databaseUrl, otherDatabaseUrl: otherUrl } = configuration;
  const snapshot = await openExistingSnapshot(databaseUrl, configuration);
  const other = otherUrl === undefined ? undefined : await openExistingSnapshot(otherUrl, configuration);
  const pages = withProgress(inBatches(snapshot.plants()), 'plants', () => snapshot.count());
  if (other === undefined) await digest(pages, options);
  else await compare(pages, inBatches(other.plants()), options);
  await snapshot.close();
  await other?.close();
}

async function digest(pages: Pages, options: ReportOptions): Promise<void> {
  const hash = createHash('sha256');
  let plants = 0;
  for await (const page of pages) {
    hash.update(encodePlants(page, 'ndjson'));
    plants += page.length;
  }
  const sha256 = hash.digest('hex');
  printSummary({ plants, sha256 }, `${counted(plants, 'plant')}, SHA-256 ${sha256}`, options);
}

/** Compares two stores. The other one lacks plants that are missing, and alone has plants that are additional. */
async function compare(pages: Pages, otherPages: Pages, options: ReportOptions): Promise<void> {
  const differences = { missing: 0, additional: 0, different: 0 };
  const examples: { readonly id: bigint; readonly difference: string }[] = [];
  const note = (id: bigint, difference: keyof typeof differences): void => {
    differences[difference] += 1;
    if (examples.length < MAX_EXAMPLES) examples.push({ id, difference });
  };
  const [left, right] = [plantsOf(pages), plantsOf(otherPages)];
  let { value: plant } = await left.next();
  let { value: other } = await right.next();
  let plants = 0;
  while (plant !== END || other !== END) {
    const id = plant.id < other.id ? plant.id : other.id;
    if (id < other.id) note(id, 'missing');
    else if (id < plant.id) note(id, 'additional');
    else if (FIELD_NAMES.some((name) => plant[name] !== other[name])) note(id, 'different');
    if (id === other.id) other = (await right.next()).value;
    if (id < plant.id) continue;
    plants += 1;
    plant = (await left.next()).value;
  }
  const { missing, additional, different } = differences;
  const against = plants - missing + additional;
  const isEqual = examples.length === 0;
  const first = examples.map(({ id, difference }) => `${id} (${difference})`).join(', ');
  printSummary(
    { equal: isEqual, plants, against, differences, examples },
    isEqual
      ? `${counted(plants, 'plant')} in both stores`
      : `the stores differ: ${plants} and ${counted(against, 'plant')}, ${missing} missing, ` +
          `${additional} additional, ${different} different; the first ids: ${first}`,
    options,
  );
  if (!isEqual) process.exitCode = EXIT_STATUS.findings;
}

/** Yields the plants of all pages, and then the end again and again. */
async function* plantsOf(pages: Pages): AsyncGenerator<StoredPlant, never> {
  for await (const page of pages) {
    for (const plant of page) yield plant;
  }
  for (;;) yield END;
}
