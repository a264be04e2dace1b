import { once } from 'node:events';
import { fstatSync, writeFileSync } from 'node:fs';
import { type Command, InvalidArgumentError } from 'commander';
import { loadConfiguration } from '../config/configuration.js';
import { CommandError, fileError } from '../process/command-error.js';
import { EXIT_STATUS } from '../process/exit-status.js';
import { abortOnSignals } from '../process/stop-signals.js';
import type { PlantSnapshot } from '../storage/plant-repository.js';
import { createFile } from './data/create-file.js';
import { encodePlants, type Format, formatOption, HEADERS } from './data/formats.js';
import { withProgress } from './data/progress.js';
import { openExistingSnapshot } from './open-store.js';
import { counted, JSON_OPTION, printSummary, type ReportOptions } from './report.js';

interface ExportOptions extends ReportOptions {
  readonly format: Format;
  readonly after?: bigint;
}

export function configure(command: Command): void {
  command
    .description(
      'Writes all plants of DATABASE_URL in the order of their ids, as they are at one moment, while the service runs.\n' +
        'Each line of NDJSON is a NewPlant. CSV has the header id,name,tag; an empty tag has quotation marks, and an ' +
        'absent one has none. The file appears complete, or not at all.',
    )
    .argument('[file]', 'the file to create, which must not exist; without it or with -, stdout')
    .addOption(formatOption())
    .option('--after <id>', 'write only plants with a greater id', parseId)
    .option(...JSON_OPTION)
    .addHelpText('after', '\nExample:\n  plant-store export --format csv plants.csv')
    .action(run);
}

async function run(file: string | undefined, options: ExportOptions): Promise<void> {
  const configuration = loadConfiguration();
  if (file === '') {
    throw new CommandError('the name of the file is empty: name a file to create', EXIT_STATUS.badUsage);
  }
  const snapshot = await openExistingSnapshot(configuration.databaseUrl, 'DATABASE_URL', configuration);
  const isFile = file !== undefined && file !== '-';
  // A signal ends a write to stdout at once, because its reader may take forever.
  const signal = isFile ? abortOnSignals() : undefined;
  let plants = 0;
  const write = async (update: (plants: number) => void): Promise<void> => {
    const chunks = encode(snapshot, options, (count) => {
      plants += count;
      update(plants);
      signal?.throwIfAborted();
    });
    try {
      await (isFile ? createFile(file, chunks) : writeToStdout(chunks));
    } catch (error) {
      throw fileError(isFile ? file : 'stdout', error);
    }
  };
  try {
    // Not where the plants themselves go to the terminal.
    if (!isFile && process.stdout.isTTY) await write(() => undefined);
    else await withProgress('plants', () => snapshot.count(), write);
  } finally {
    await snapshot.close();
  }
  const words = isFile ? `${file} has ${counted(plants, 'plant')}` : `${counted(plants, 'plant')} exported`;
  printSummary({ file: isFile ? file : undefined, plants }, words, { ...options, dataOnStdout: !isFile });
}

/** @param onPlants called with the number of plants of each chunk that is written */
async function* encode(
  snapshot: PlantSnapshot,
  { format, after }: ExportOptions,
  onPlants: (count: number) => void,
): AsyncGenerator<string> {
  yield HEADERS[format];
  for await (const page of snapshot.pages(after)) {
    yield encodePlants(page, format);
    onPlants(page.length);
  }
}

async function writeToStdout(chunks: AsyncIterable<string>): Promise<void> {
  const { fd } = process.stdout;
  // process.stdout does not notice that a disk is full when a file takes a part of a chunk: Node's SyncWriteStream
  // (lib/internal/fs/sync_write_stream.js) ignores how much was written. writeFileSync writes the rest, and fails.
  const isFile = fstatSync(fd).isFile();
  for await (const chunk of chunks) {
    if (isFile) writeFileSync(fd, chunk);
    else if (!process.stdout.write(chunk)) await once(process.stdout, 'drain');
  }
}

function parseId(text: string): bigint {
  const id = /^-?\d{1,19}$/.test(text) ? BigInt(text) : undefined;
  if (id === undefined || BigInt.asIntN(64, id) !== id) throw new InvalidArgumentError('It must be an id: an int64.');
  return id;
}
