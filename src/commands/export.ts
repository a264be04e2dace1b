import { createWriteStream, fstatSync } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import type { Configuration } from '../config/configuration.js';
import { loadConfiguration } from '../config/load-configuration.js';
import { explainWriteError } from '../files/file-errors.js';
import { publishFile } from '../files/publish-file.js';
import { lengthOf } from '../storage/plant-repository.js';
import { counted, JSON_OPTION, printSummary, type ReportOptions } from './command-line.js';
import { inBatches, withProgress } from './data/batches.js';
import { encodePlants, type Format, formatOf, formatOption, HEADERS } from './data/formats.js';
import { readStore } from './open-store.js';

interface ExportOptions extends ReportOptions {
  readonly format?: Format;
}

export function configure(command: Command): void {
  command
    .description(
      'Writes all plants of DATABASE_URL in the order of their ids, as they are at one moment, while the service runs.\n' +
        'Each line of NDJSON is a NewPlant. CSV has the header id,name,tag; an empty text has quotation marks, ' +
        'and an absent one has none. The file appears complete, or not at all.',
    )
    .argument('[file]', 'the file to create, which must not exist; without it or with -, stdout')
    .addOption(formatOption())
    .option(...JSON_OPTION)
    .addHelpText('after', '\nExample:\n  plant-store export plants.csv')
    .action(run);
}

async function run(file = '-', { format = formatOf(file), json }: ExportOptions): Promise<void> {
  const configuration = loadConfiguration();
  if (file === '-') {
    const plants = await exportToStdout(configuration, format);
    printSummary({ plants }, `${counted(plants, 'plant')} exported`, { json, dataOnStdout: true });
    return;
  }
  const plants = await publishFile(file, async (draft) => {
    const handle = await open(draft, 'wx', 0o600);
    return exportTo(handle.createWriteStream(), configuration, format);
  });
  printSummary({ file, plants }, `${file} has ${counted(plants, 'plant')}`, { json });
}

/** @returns the number of plants */
async function exportToStdout(configuration: Configuration, format: Format): Promise<number> {
  const { fd, isTTY } = process.stdout;
  // Into a file, process.stdout loses the rest of a chunk of which a full disk takes only a part: Node's
  // SyncWriteStream (lib/internal/fs/sync_write_stream.js) ignores how much was written. A stream of node:fs writes the
  // rest, and fails.
  const output = fstatSync(fd).isFile() ? createWriteStream('', { fd, autoClose: false }) : process.stdout;
  try {
    return await exportTo(output, configuration, format, !isTTY);
  } catch (error) {
    throw explainWriteError('stdout', error);
  }
}

/**
 * @param showsProgress false if the progress would be between the plants
 * @returns the number of plants
 */
async function exportTo(
  output: Writable,
  configuration: Configuration,
  format: Format,
  showsProgress = true,
): Promise<number> {
  const batches = inBatches(readStore(configuration), lengthOf);
  const shown = showsProgress ? withProgress(batches, 'plants') : batches;
  let plants = 0;
  async function* encode(): AsyncGenerator<string> {
    // The header comes with the first plants, so that there is no output if the store cannot be read.
    let header = HEADERS[format];
    for await (const batch of shown) {
      yield header + encodePlants(batch, format);
      header = '';
      plants += batch.length;
    }
    yield header;
  }
  await pipeline(encode, output, { end: output !== process.stdout });
  return plants;
}
