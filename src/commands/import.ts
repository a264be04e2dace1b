import { fstatSync } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { Command } from 'commander';
import { loadConfiguration } from '../config/configuration.js';
import { FIELD_NAMES } from '../contract/plant-fields.js';
import { explainReadError } from '../files/file-errors.js';
import { inShell, listed } from '../operator-text.js';
import { badUsage, EXIT_STATUS, OperatorError } from '../operator-error.js';
import { RepositoryUnavailableError } from '../storage/plant-repository.js';
import { counted, JSON_OPTION, onInterruption, printSummary, type ReportOptions, RUN_AGAIN } from './command-line.js';
import { type Format, formatOf, formatOption } from './data/formats.js';
import { withProgress } from './data/progress.js';
import { Rejects } from './data/rejects.js';
import type { Counts, RowStore } from './data/row-store.js';
import type { RowReader } from './data/rows.js';
import { openOrCreateStore } from './open-store.js';

/** Bytes by which an exported row may be longer than the body that was sent: the id 1e18 is exported as nineteen digits. */
const LONGER_ID = 32;

const GO_ON = `${RUN_AGAIN}: it goes on where this one ended`;

/** The advice with --rejects, whose file exists now. */
const GO_ON_WITH_REJECTS = 'run it again with another file for --rejects: it goes on where this one ended';

interface ImportOptions extends ReportOptions {
  readonly format?: Format;
  readonly rejects?: string;
}

export function configure(command: Command): void {
  command
    .description(
      'Adds the plants of a file to DATABASE_URL by the rules of POST /plants, while the service runs. Plants that ' +
        'are there already count as repeated, so the same import can run again. Rows that are no plants are rejected, ' +
        'and ids that belong to other plants are conflicts: the exit status is then 3, and each is reported with its ' +
        'line number and the reason.\n' +
        `The first line of CSV names the columns ${listed(FIELD_NAMES, 'and')}, in any order and in upper or lower case.`,
    )
    .argument('[file]', 'the file to read; without it or with -, stdin')
    .addOption(formatOption())
    .option(
      '--rejects <file>',
      'the file to write such rows to, with line and reason, to be corrected and imported again',
    )
    .option(...JSON_OPTION)
    .addHelpText('after', '\nExample:\n  plant-store import --rejects rejects.ndjson plants.ndjson')
    .action(run);
}

async function run(file = '-', { format = formatOf(file), rejects, json }: ImportOptions): Promise<void> {
  const configuration = loadConfiguration();
  // The files are opened before the store, which is created if it does not exist.
  const input = file === '-' ? openStdin() : await openFile(file);
  const reader = await createReader(format, configuration.bodyLimit + LONGER_ID);
  const rejected = Rejects.open(rejects, reader);
  const counts: Counts = { created: 0, repeated: 0, conflict: 0, rejected: 0 };
  const goOn = rejects === undefined ? GO_ON : GO_ON_WITH_REJECTS;
  onInterruption(() => `${describe(counts)}; ${goOn}`);
  const repository = await openOrCreateStore(configuration);
  try {
    const store = await createRowStore(repository, counts, (row, reason) => rejected.add(row, reason));
    for await (const rows of withProgress(reader.rows(input), 'rows')) await store.add(rows);
    await repository.close();
  } catch (error) {
    if (Object.values(counts).some((count) => count > 0)) process.stderr.write(`${describe(counts)}\n`);
    // Another error of closing the store would hide this one, which says how to go on.
    await repository.close().catch(() => undefined);
    if (!(error instanceof RepositoryUnavailableError)) throw error;
    throw new OperatorError(`${error.message}; ${goOn}`, { cause: error });
  }
  printSummary(counts, describe(counts), { json });
  if (counts.rejected + counts.conflict > 0) process.exitCode = EXIT_STATUS.findings;
}

/** Loads a reader on demand, because the rules of POST /plants take longer to load than the help. */
async function createReader(format: Format, maxLength: number): Promise<RowReader> {
  if (format === 'csv') return new (await import('./data/csv.js')).CsvReader(maxLength);
  return new (await import('./data/ndjson.js')).NdjsonReader(maxLength);
}

/** Loads the row store on demand, like the reader. */
async function createRowStore(...parameters: ConstructorParameters<typeof RowStore>): Promise<RowStore> {
  const { Logger } = await import('@nestjs/common');
  // GroupCommit logs for a service. An import itself reports its rows.
  Logger.overrideLogger(false);
  return new (await import('./data/row-store.js')).RowStore(...parameters);
}

function describe({ created, repeated, conflict, rejected }: Readonly<Counts>): string {
  return `${created} created, ${repeated} repeated, ${counted(conflict, 'conflict')}, ${rejected} rejected`;
}

function openStdin(): Readable {
  // Node would read a directory as empty.
  if (fstatSync(process.stdin.fd).isDirectory()) {
    throw badUsage('stdin is a directory: pass the plants of a file, as in plant-store import - < plants.ndjson');
  }
  if (process.stdin.isTTY)
    process.stderr.write('Reading plants from stdin. End with Ctrl+D, or name a file instead.\n');
  return process.stdin;
}

/** Opens a regular file. Opening a pipe could wait for ever, and no signal would end the wait. */
async function openFile(file: string): Promise<Readable> {
  try {
    if ((await stat(file)).isFile()) return (await open(file)).createReadStream();
  } catch (error) {
    throw explainReadError(file, error);
  }
  throw badUsage(
    `${file} is not a regular file: name one, or pass its plants to stdin, as in plant-store import - < ${inShell(file)}`,
  );
}
