import { fstatSync, openSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { Command } from 'commander';
import { loadConfiguration } from '../config/configuration.js';
import { FIELD_NAMES, listed } from '../contract/plant-fields.js';
import { EXIT_STATUS, OperatorError } from '../contract/operator-error.js';
import { fileError } from '../process/describe-error.js';
import { DryRunRepository } from './data/dry-run-repository.js';
import { type Format, formatOption } from './data/formats.js';
import { PlantWriter } from './data/plant-writer.js';
import { withProgress } from './data/progress.js';
import type { StoredPlant } from '../storage/plant-repository.js';
import { openStore } from './open-store.js';
import { counted, JSON_OPTION, printSummary, type ReportOptions } from './report.js';

/** Bytes by which an exported row may be longer than the body that was sent: the id 1e18 has nineteen digits in it. */
const LONGER_ID = 32;

interface ImportOptions extends ReportOptions {
  readonly format: Format;
  readonly rejects?: string;
  readonly dryRun?: boolean;
}

export function configure(command: Command): void {
  command
    .description(
      'Adds the plants of a file to DATABASE_URL by the rules of POST /plants, while the service runs. Plants that ' +
        'are there already count as repeated, so the same import can run again. A row that is no plant, or whose id ' +
        'belongs to another plant, is rejected with its line number and the reason, and the exit status is 3.\n' +
        `CSV has a header with the columns ${listed(FIELD_NAMES, 'and')}, in any order.`,
    )
    .argument('[file]', 'the file to read; without it or with -, stdin')
    .addOption(formatOption())
    .option('--rejects <file>', 'the file to write the rejected rows to, instead of stderr')
    .option('--dry-run', 'report what would happen, and change nothing')
    .option(...JSON_OPTION)
    .addHelpText('after', '\nExample:\n  plant-store import --rejects rejects.txt plants.ndjson')
    .action(run);
}

async function run(file = '-', { format, rejects, dryRun = false, json }: ImportOptions): Promise<void> {
  const configuration = loadConfiguration();
  // Before the store, which is created if it does not exist.
  const input = file === '-' ? process.stdin : await openFile(file);
  const reject = openRejects(rejects);
  const repository = dryRun
    ? await DryRunRepository.open(configuration)
    : await openStore(configuration.databaseUrl, configuration);
  const writer = new PlantWriter(repository);
  let rejected = 0;
  const describe = (): string => {
    const { created, repeated, conflict } = writer.outcomes;
    return `${created} created, ${repeated} repeated, ${counted(conflict, 'conflict')}, ${rejected} rejected`;
  };
  try {
    // The rules of POST /plants take longer to load than the help.
    const { readRows } = await import('./data/read-rows.js');
    for await (const rows of withProgress(readRows(format, input, configuration.bodyLimit + LONGER_ID), 'rows')) {
      const plants: StoredPlant[] = [];
      for (const { plant } of rows) if (plant !== undefined) plants.push(plant);
      const conflicts = new Set(await writer.add(plants));
      for (const { line, plant, reason } of rows) {
        if (plant === undefined) rejected += 1;
        if (plant === undefined) reject(line, reason);
        else if (conflicts.has(plant)) reject(line, `The id ${plant.id} belongs to another plant.`);
      }
    }
  } catch (error) {
    if (writer.count > 0) process.stderr.write(`${describe()}\n`);
    throw error;
  } finally {
    await repository.close();
  }
  printSummary(
    { ...writer.outcomes, rejected, dryRun: dryRun || undefined },
    dryRun ? `dry run: ${describe()}` : describe(),
    { json },
  );
  if (rejected + writer.outcomes.conflict > 0) process.exitCode = EXIT_STATUS.findings;
}

async function openFile(file: string): Promise<Readable> {
  const handle = await open(file);
  if ((await handle.stat()).isDirectory()) throw new OperatorError(`${file} is a directory: name a file`);
  return handle.createReadStream();
}

/**
 * Returns a function that writes a line about a rejected row.
 *
 * @param file stderr without one
 * @throws {OperatorError} if the file has something, which may be the plants or the database
 */
function openRejects(file?: string): (line: number, reason: string) => void {
  if (file === undefined) return (line, reason) => process.stderr.write(`line ${line}: ${reason}\n`);
  const descriptor = openSync(file, 'a', 0o600);
  if (fstatSync(descriptor).size > 0) {
    throw new OperatorError(`${file} already exists: name another file for the rejected rows`);
  }
  return (line, reason) => {
    try {
      // Unlike writeSync, it writes the rest, or fails, if a full disk takes a part of the line.
      writeFileSync(descriptor, `line ${line}: ${reason}\n`);
    } catch (error) {
      throw fileError(file, error);
    }
  };
}
