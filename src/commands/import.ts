import { closeSync, openSync, statSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { addAbortSignal, type Readable } from 'node:stream';
import type { Command } from 'commander';
import { type Configuration, loadConfiguration } from '../config/configuration.js';
import type { Format } from '../formats/encode-plants.js';
import type { Reading } from '../formats/read-plant.js';
import { FormatError, type Row, type RowParser } from '../formats/row-parser.js';
import { CommandError, EXIT_STATUS, fileError } from '../process/exit-status.js';
import { collectEarlier } from '../process/heap.js';
import { abortOnSignals } from '../process/stop-signals.js';
import type { PlantRepository, StoredPlant } from '../storage/plant-repository.js';
import { DryRunRepository } from '../transfer/dry-run-repository.js';
import { PlantWriter } from '../transfer/plant-writer.js';
import { formatOption } from './export.js';
import { openStore, openStoreSnapshot } from './open-store.js';
import { counted, JSON_OPTION, printSummary, type ReportOptions, showProgress } from './report.js';

/** Number of rows with which a batch is full: a transaction of them takes a few ms, and more are hardly faster. */
const BATCH_ROWS = 4_096;

/** Length of the texts of a batch after which no other row is added. */
const BATCH_LENGTH = 1_048_576;

/** Bytes that are read from a file at once. */
const CHUNK_SIZE = 65_536;

interface RejectedRow {
  readonly line: number;
  readonly reason: string;
}

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
        'CSV has a header with the columns id, name and tag, in any order.',
    )
    .argument('[file]', 'the file to read; without it or with -, stdin')
    .addOption(formatOption())
    .option('--rejects <file>', 'the file to write the rejected rows to, instead of stderr')
    .option('--dry-run', 'report what would happen, and change nothing')
    .option(...JSON_OPTION)
    .addHelpText('after', '\nExample:\n  plant-store import --rejects rejects.txt plants.ndjson')
    .action(run);
}

async function run(file: string | undefined, options: ImportOptions): Promise<void> {
  collectEarlier();
  const configuration = loadConfiguration();
  // Before the store, which is created if it does not exist.
  const stream = file === undefined || file === '-' ? process.stdin : await openFile(file);
  const rejects = new Rejects(options.rejects);
  const repository = await openTarget(configuration, options.dryRun ?? false);
  // Only now, because a signal ends the wait for a server, or for the writer of a pipe, at once.
  const signal = abortOnSignals();
  const input = addAbortSignal(signal, stream);
  const writer = new PlantWriter(repository, configuration.databaseStartTimeout, signal);
  try {
    const parser = await createParser(options.format, configuration.bodyLimit);
    await importRows(input, parser, writer, rejects);
  } catch (error) {
    await writer.finish().catch(() => undefined);
    if (signal.aborted || writer.total > 0) process.stderr.write(`${summaryOf(writer, rejects).words}\n`);
    signal.throwIfAborted();
    throw error instanceof FormatError ? new CommandError(error.message) : error;
  } finally {
    rejects.close();
    await repository.close();
  }
  const { summary, words } = summaryOf(writer, rejects);
  printSummary({ ...summary, dryRun: options.dryRun }, options.dryRun ? `dry run: ${words}` : words, options);
  if (rejects.count > 0) process.exitCode = EXIT_STATUS.differences;
}

async function openFile(file: string): Promise<Readable> {
  const handle = await open(file);
  if ((await handle.stat()).isDirectory()) throw new CommandError(`${file} is a directory: name a file`);
  return handle.createReadStream({ highWaterMark: CHUNK_SIZE });
}

async function openTarget(configuration: Configuration, isDryRun: boolean): Promise<PlantRepository> {
  const { databaseUrl } = configuration;
  if (!isDryRun) return openStore(databaseUrl, 'DATABASE_URL', configuration);
  return DryRunRepository.open(await openStoreSnapshot(databaseUrl, 'DATABASE_URL', configuration));
}

/** Loads the rules of POST /plants, which the help does not need. */
async function createParser(format: Format, maxLength: number): Promise<RowParser> {
  if (format === 'csv') return new (await import('../formats/csv-parser.js')).CsvParser(maxLength);
  return new (await import('../formats/ndjson-parser.js')).NdjsonParser(maxLength);
}

async function importRows(input: Readable, parser: RowParser, writer: PlantWriter, rejects: Rejects): Promise<void> {
  let batch = new Batch();
  const flush = async (): Promise<void> => {
    const full = batch;
    batch = new Batch();
    await writer.add(full.plants, (conflicts) => {
      for (const { line, reason } of full.rejected(conflicts)) rejects.add(line, reason);
    });
  };
  const take = async (rows: readonly Row[]): Promise<void> => {
    for (const { line, reading } of rows) {
      if (batch.add(reading, line)) await flush();
    }
  };
  const progress = await showProgress('rows');
  try {
    for await (const chunk of input) {
      await take(parser.push(chunk as Buffer));
      progress.update(writer.total + rejects.count);
    }
    await take(parser.end());
    await flush();
    await writer.finish();
  } finally {
    progress.stop();
  }
}

function summaryOf({ counts }: PlantWriter, rejects: Rejects): { summary: object; words: string } {
  const { created, repeated, conflict } = counts;
  const rejected = rejects.count - conflict;
  return {
    summary: { created, repeated, conflict, rejected },
    words: `${created} created, ${repeated} repeated, ${counted(conflict, 'conflict')}, ${rejected} rejected`,
  };
}

/** Rows that are added together. */
class Batch {
  readonly plants: StoredPlant[] = [];
  /** The lines of the plants. */
  readonly #lines: number[] = [];
  /** Rows that are no plants. */
  readonly #refused: RejectedRow[] = [];
  #length = 0;

  /** Returns whether the batch is full. */
  add(reading: Reading, line: number): boolean {
    if ('reason' in reading) {
      this.#refused.push({ line, reason: reading.reason });
      this.#length += reading.reason.length;
    } else {
      this.plants.push(reading);
      this.#lines.push(line);
      this.#length += reading.name.length + (reading.tag?.length ?? 0);
    }
    return this.plants.length + this.#refused.length >= BATCH_ROWS || this.#length >= BATCH_LENGTH;
  }

  /**
   * Returns the rejected rows in the order of their lines.
   *
   * @param conflicts the indices of plants whose ids belong to others
   */
  rejected(conflicts: readonly number[]): readonly RejectedRow[] {
    const taken = conflicts.map((index) => ({
      line: this.#lines[index] ?? 0,
      reason: `The id ${this.plants[index]?.id} belongs to another plant.`,
    }));
    return [...this.#refused, ...taken].sort((one, other) => one.line - other.line);
  }
}

/** Writes the number of the line of each rejected row, and the reason. */
class Rejects {
  count = 0;
  readonly #descriptor: number | undefined;

  /**
   * @param file stderr without one
   * @throws {CommandError} if it has something, which may be the plants or the database
   */
  constructor(private readonly file: string | undefined) {
    if (file === undefined) return;
    const existing = statSync(file, { throwIfNoEntry: false });
    if (existing?.isFile() === true && existing.size > 0) {
      throw new CommandError(`${file} already exists: name another file for the rejected rows`);
    }
    this.#descriptor = openSync(file, 'a', 0o600);
  }

  add(line: number, reason: string): void {
    this.count += 1;
    const text = `line ${line}: ${reason}\n`;
    if (this.file === undefined || this.#descriptor === undefined) {
      process.stderr.write(text);
      return;
    }
    try {
      // Unlike writeSync, it writes the rest, or fails, if a full disk takes a part of the line.
      writeFileSync(this.#descriptor, text);
    } catch (error) {
      throw fileError(this.file, error);
    }
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
  }
}
