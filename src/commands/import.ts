import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { Logger } from '@nestjs/common';
import type { Command } from 'commander';
import { loadConfiguration } from '../config/load-configuration.js';
import { explainReadError } from '../files/file-errors.js';
import { badUsage, EXIT_STATUS } from '../operator-error.js';
import { errorMessage } from '../storage/errors.js';
import { GroupCommit } from '../storage/group-commit.js';
import { lengthOf, type Outcome, RepositoryUnavailableError } from '../storage/plant-repository.js';
import { counted, JSON_OPTION, printSummary, type ReportOptions } from './command-line.js';
import { inBatches, printAboveProgress, withProgress } from './data/batches.js';
import { type Format, formatOf, formatOption } from './data/formats.js';
import { readCsv } from './data/read-csv.js';
import { readNdjson } from './data/read-ndjson.js';
import { decodeUtf8, type Row } from './data/rows.js';
import { openOrCreateStore } from './open-store.js';

interface ImportOptions extends ReportOptions {
  readonly format?: Format;
}

/** The result of a row. */
interface Result {
  readonly name: Outcome | 'rejected';
  /** Why the row's plant is not in the store. */
  readonly reason?: string;
}

/** How many rows have each result. */
type Counts = Record<Result['name'], number>;

export function configure(command: Command): void {
  command
    .description(
      'Adds the plants of a file to DATABASE_URL by the rules of POST /plants, while the service runs. Plants that ' +
        'are there already count as repeated, so the same import can run again. Rows that are no plants are rejected, ' +
        'and ids that belong to other plants are conflicts: the exit status is then 3, and stderr has the place and the ' +
        'reason of each.\n' +
        'The first line of CSV names the columns id, name and tag, in any order and in upper or lower case.',
    )
    .argument('[file]', 'the file to read; without it or with -, stdin')
    .addOption(formatOption())
    .option(...JSON_OPTION)
    .addHelpText('after', '\nExample:\n  plant-store import plants.ndjson')
    .action(run);
}

async function run(file = '-', { format = formatOf(file), json }: ImportOptions): Promise<void> {
  const configuration = loadConfiguration();
  // Opened before the store, which is created if it does not exist.
  const texts = decodeUtf8(file === '-' ? openStdin() : await openFile(file));
  const rows = format === 'csv' ? readCsv(texts, printAboveProgress) : readNdjson(texts);
  const repository = await openOrCreateStore(configuration);
  // GroupCommit logs for a service. An import itself reports its rows.
  Logger.overrideLogger(false);
  const plants = new GroupCommit(repository);
  const counts: Counts = { created: 0, repeated: 0, conflict: 0, rejected: 0 };
  try {
    const batches = inBatches(rows, (row) => ('plant' in row ? lengthOf(row.plant) : 0));
    for await (const batch of withProgress(batches, 'rows')) await addRows(batch, plants, counts);
  } finally {
    await repository.close();
  }
  const { created, repeated, conflict, rejected } = counts;
  const words = `${created} created, ${repeated} repeated, ${counted(conflict, 'conflict')}, ${rejected} rejected`;
  printSummary(counts, words, { json });
  if (rejected + conflict > 0) process.exitCode = EXIT_STATUS.findings;
}

function openStdin(): Readable {
  if (process.stdin.isTTY) {
    process.stderr.write('Reading plants from stdin. End with Ctrl+D, or name a file instead.\n');
  }
  return process.stdin;
}

/** Opens a file or a pipe, such as that of `plant-store import <(zcat plants.gz)`. */
async function openFile(file: string): Promise<Readable> {
  try {
    const handle = await open(file);
    if ((await handle.stat()).isDirectory()) throw badUsage(`${file} is a directory: name a file`);
    return handle.createReadStream();
  } catch (error) {
    throw explainReadError(file, error);
  }
}

/**
 * Adds the plants of rows, counts the results, and prints the place and the reason of each row that is not in the
 * store.
 */
async function addRows(rows: readonly Row[], plants: GroupCommit, counts: Counts): Promise<void> {
  // Waits for all rows, even after an error: the caller then closes the repository, which must get no further batch.
  const results = await Promise.allSettled(rows.map((row) => addRow(row, plants)));
  for (const [index, result] of results.entries()) {
    if (result.status === 'rejected') throw result.reason;
    const { name, reason } = result.value;
    counts[name] += 1;
    if (reason !== undefined) printAboveProgress(`${rows[index]?.place ?? ''}: ${reason}`);
  }
}

async function addRow(row: Row, plants: GroupCommit): Promise<Result> {
  if ('reason' in row) return { name: 'rejected', reason: row.reason };
  try {
    const name = await plants.add(row.plant);
    return name === 'conflict' ? { name, reason: `The id ${row.plant.id} belongs to another plant.` } : { name };
  } catch (error) {
    if (error instanceof RepositoryUnavailableError) throw error;
    return { name: 'rejected', reason: `It cannot be stored: ${errorMessage(error)}` };
  }
}
