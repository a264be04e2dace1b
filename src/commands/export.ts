import { once } from 'node:events';
import { closeSync, fstatSync, lstatSync, openSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { loadConfiguration } from '../config/configuration.js';
import { OperatorError } from '../operator-error.js';
import { FIELD_NAMES } from '../contract/plant-fields.js';
import { unwritable } from '../files/file-errors.js';
import { publishFile } from '../files/publish-file.js';
import type { PlantSnapshot } from '../storage/plant-repository.js';
import { inBatches } from './data/batches.js';
import { encodePlants, type Format, formatOf, formatOption, HEADERS } from './data/formats.js';
import { withProgress } from './data/progress.js';
import { assertFileName } from './file-name.js';
import { openExistingSnapshot } from './open-store.js';
import { counted, JSON_OPTION, onInterruption, printSummary, type ReportOptions, RUN_AGAIN } from './report.js';

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
  const snapshot = await openExistingSnapshot(configuration);
  const isFile = file !== '-';
  onInterruption(() => `${isFile ? `there is no ${file}` : 'the output is not complete'}; ${RUN_AGAIN}`);
  const exported = { plants: 0 };
  // A progress bar would be in the way of plants that go to the terminal.
  const showsProgress = isFile || !process.stdout.isTTY;
  const chunks = encoded(snapshot, format, showsProgress, exported);
  await (isFile ? writeExport(file, chunks) : writeToStdout(chunks));
  const count = counted(exported.plants, 'plant');
  const words = isFile ? `${file} has ${count}` : `${count} exported`;
  printSummary({ file: isFile ? file : undefined, ...exported }, words, { json, dataOnStdout: !isFile });
}

/**
 * Yields the plants of a snapshot in a format, and closes the snapshot. That happens before the file appears, because a
 * server may not answer, and a signal that ends the wait must leave no file.
 *
 * @param exported counts the plants
 */
async function* encoded(
  snapshot: PlantSnapshot,
  format: Format,
  showsProgress: boolean,
  exported: { plants: number },
): AsyncGenerator<string> {
  yield HEADERS[format];
  const batches = inBatches(snapshot.plants());
  const shown = showsProgress ? withProgress(batches, 'plants', () => snapshot.count()) : batches;
  for await (const batch of shown) {
    yield encodePlants(batch, format);
    exported.plants += batch.length;
  }
  await snapshot.close();
}

/** Creates a file atomically and durably; only its owner can read it. If a chunk fails, there is no file. */
async function writeExport(file: string, chunks: AsyncIterable<string>): Promise<void> {
  const alreadyExists = `${file} already exists: name another file`;
  const write = async (draft: string): Promise<void> => {
    const descriptor = openSync(draft, 'wx', 0o600);
    try {
      for await (const chunk of chunks) writeFileSync(descriptor, chunk);
    } finally {
      closeSync(descriptor);
    }
  };
  try {
    // `publishFile` refuses an existing file, but only after all chunks are written. This check also sees a dangling link.
    if (lstatSync(file, { throwIfNoEntry: false }) !== undefined) throw new OperatorError(alreadyExists);
    await publishFile(file, write);
  } catch (error) {
    const { code } = Object(error) as NodeJS.ErrnoException;
    throw code === 'EEXIST' ? new OperatorError(alreadyExists, { cause: error }) : unwritable(file, error);
  }
}

async function writeToStdout(chunks: AsyncIterable<string>): Promise<void> {
  const { fd } = process.stdout;
  // process.stdout does not notice that a disk is full when a file takes a part of a chunk: Node's SyncWriteStream
  // (lib/internal/fs/sync_write_stream.js) ignores how much was written. writeFileSync tries to write the rest, and fails.
  const isFile = fstatSync(fd).isFile();
  try {
    for await (const chunk of chunks) {
      if (isFile) writeFileSync(fd, chunk);
      else if (!process.stdout.write(chunk)) await once(process.stdout, 'drain');
    }
  } catch (error) {
    throw unwritable('stdout', error);
  }
}
