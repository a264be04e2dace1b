import { once } from 'node:events';
import { closeSync, fstatSync, openSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { type Configuration, loadConfiguration } from '../config/configuration.js';
import { FIELD_NAMES } from '../contract/plant-fields.js';
import { explainWriteError } from '../files/file-errors.js';
import { publishFile } from '../files/publish-file.js';
import {
  assertFileName,
  counted,
  JSON_OPTION,
  onInterruption,
  printSummary,
  type ReportOptions,
  RUN_AGAIN,
} from './command-line.js';
import { inBatches } from './data/batches.js';
import { encodePlants, type Format, formatOf, formatOption, HEADERS } from './data/formats.js';
import { withProgress } from './data/progress.js';
import { openExistingSnapshot } from './open-store.js';

/** A part of an export. */
interface Chunk {
  readonly text: string;
  /** Number of plants in the text. */
  readonly plants: number;
}

interface ExportOptions extends ReportOptions {
  readonly format?: Format;
}

export function configure(command: Command): void {
  command
    .description(
      'Writes all plants of DATABASE_URL in the order of their ids, as they are at one moment, while the service runs.\n' +
        `Each line of NDJSON is a NewPlant. CSV has the header ${FIELD_NAMES.join()}; an empty text has quotation marks, ` +
        'and an absent one has none. The file appears complete, or not at all.',
    )
    .argument('[file]', 'the file to create, which must not exist; without it or with -, stdout')
    .addOption(formatOption())
    .option(...JSON_OPTION)
    .addHelpText('after', '\nExample:\n  plant-store export plants.csv')
    .action(run);
}

async function run(file = '-', { format = formatOf(file), json }: ExportOptions): Promise<void> {
  assertFileName(file);
  const configuration = loadConfiguration();
  const isFile = file !== '-';
  const endAdvice = onInterruption(
    () => `${isFile ? `there is no ${file}` : 'the output is not complete'}; ${RUN_AGAIN}`,
  );
  // A progress bar would be in the way of plants that go to the terminal.
  const showsProgress = isFile || !process.stdout.isTTY;
  const chunks = encoded(configuration, format, showsProgress);
  const plants = await (isFile ? writeToFile(file, chunks) : writeToStdout(chunks));
  endAdvice();
  const count = counted(plants, 'plant');
  const words = isFile ? `${file} has ${count}` : `${count} exported`;
  printSummary({ file: isFile ? file : undefined, plants }, words, { json, dataOnStdout: !isFile });
}

/**
 * Yields the plants of a store in a format. It opens the snapshot with its first chunk, so that an export whose file cannot
 * be created opens none. It closes the snapshot before the file appears, because a server may not answer, and a signal that
 * ends the wait must leave no file.
 */
async function* encoded(configuration: Configuration, format: Format, showsProgress: boolean): AsyncGenerator<Chunk> {
  const snapshot = await openExistingSnapshot(configuration);
  try {
    yield { text: HEADERS[format], plants: 0 };
    const batches = inBatches(snapshot.plants());
    const shown = showsProgress ? withProgress(batches, 'plants', () => snapshot.count()) : batches;
    for await (const batch of shown) {
      yield { text: encodePlants(batch, format), plants: batch.length };
    }
  } finally {
    await snapshot.close();
  }
}

/**
 * Creates a file that only its owner can read. If a chunk fails, there is no file.
 *
 * @returns the number of plants
 */
function writeToFile(file: string, chunks: AsyncIterable<Chunk>): Promise<number> {
  return publishFile(file, async (draft) => {
    const descriptor = openSync(draft, 'wx', 0o600);
    try {
      return await writeAll(chunks, (text) => writeFileSync(descriptor, text));
    } finally {
      closeSync(descriptor);
    }
  });
}

/** @returns the number of plants */
async function writeToStdout(chunks: AsyncIterable<Chunk>): Promise<number> {
  const { fd } = process.stdout;
  // process.stdout does not notice that a disk is full when a file takes a part of a chunk: Node's SyncWriteStream
  // (lib/internal/fs/sync_write_stream.js) ignores how much was written. writeFileSync tries to write the rest, and fails.
  const isFile = fstatSync(fd).isFile();
  const write = async (text: string): Promise<void> => {
    if (isFile) writeFileSync(fd, text);
    else if (!process.stdout.write(text)) await once(process.stdout, 'drain');
  };
  try {
    return await writeAll(chunks, write);
  } catch (error) {
    throw explainWriteError('stdout', error);
  }
}

/** @returns the number of plants */
async function writeAll(chunks: AsyncIterable<Chunk>, write: (text: string) => void | Promise<void>): Promise<number> {
  let total = 0;
  for await (const { text, plants } of chunks) {
    await write(text);
    total += plants;
  }
  return total;
}
