import { createHash } from 'node:crypto';
import type { Command } from 'commander';
import { loadConfiguration } from '../config/load-configuration.js';
import { lengthOf } from '../storage/plant-repository.js';
import { counted, JSON_OPTION, printSummary, type ReportOptions } from './command-line.js';
import { inBatches, withProgress } from './data/batches.js';
import { encodePlants } from './data/formats.js';
import { readStore } from './open-store.js';

export function configure(command: Command): void {
  command
    .description(
      'Counts the plants of DATABASE_URL, and prints the SHA-256 of their export as NDJSON. Two stores with the same ' +
        'digest have the same plants.',
    )
    .option(...JSON_OPTION)
    .addHelpText('after', '\nExample:\n  plant-store verify')
    .action(run);
}

async function run(options: ReportOptions): Promise<void> {
  const hash = createHash('sha256');
  let plants = 0;
  const batches = inBatches(readStore(loadConfiguration()), lengthOf);
  for await (const batch of withProgress(batches, 'plants')) {
    hash.update(encodePlants(batch, 'ndjson'));
    plants += batch.length;
  }
  const sha256 = hash.digest('hex');
  printSummary({ plants, sha256 }, `${counted(plants, 'plant')}, SHA-256 ${sha256}`, options);
}
