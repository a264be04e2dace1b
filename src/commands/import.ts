import { fstatSync } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { Command } from 'commander';
import { loadConfiguration } from '../config/configuration.js';
import { FIELD_NAMES } from '../contract/plant-fields.js';
import { unreadable } from '../files/file-errors.js';
import { listed } from '../listed.js';
import { inShell } from '../in-shell.js';
import { badUsage, EXIT_STATUS, OperatorError } from '../operator-error.js';
import { errorMessage, PlantsKeptOutError } from '../storage/errors.js';
import { type Outcome, type PlantRepository, RepositoryUnavailableError } from '../storage/plant-repository.js';
import { type Format, formatOf, formatOption } from './data/formats.js';
import { withProgress } from './data/progress.js';
import { Rejects } from './data/rejects.js';
import type { Row, RowReader } from './data/rows.js';
import { openStore } from './open-store.js';
import { counted, JSON_OPTION, onInterruption, printSummary, type ReportOptions, RUN_AGAIN } from './report.js';

/** Bytes by which an exported row may be longer than the body that was sent: the id 1e18 has nineteen digits in it. */
const LONGER_ID = 32;

const GO_ON = `${RUN_AGAIN}: it goes on where this one ended`;

/** The file of --rejects exists now. */
const GO_ON_WITH_REJECTS = 'run it again with another file for --rejects: it goes on where this one ended';

interface ImportOptions extends ReportOptions {
  readonly format?: Format;
  readonly rejects?: string;
}

/** What became of a row. */
interface Result {
  readonly name: Outcome | 'rejected';
  /** Why the plant of the row is not in the store. */
  readonly reason?: string;
}

type Counts = Record<Result['name'], number>;

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
  // Before the store, which is created if it does not exist.
  const input = file === '-' ? openStdin() : await openFile(file);
  const rejected = Rejects.open(rejects);
  const repository = await openStore(configuration);
  const counts: Counts = { created: 0, repeated: 0, conflict: 0, rejected: 0 };
  const goOn = rejects === undefined ? GO_ON : GO_ON_WITH_REJECTS;
  onInterruption(() => `${describe(counts)}; ${goOn}`);
  try {
    const reader = await createReader(format, configuration.bodyLimit + LONGER_ID);
    for await (const rows of withProgress(reader.rows(input), 'rows')) {
      for await (const results of add(repository, rows, goOn)) {
        for (const [row, { name, reason }] of results) {
          counts[name] += 1;
          if (reason !== undefined) rejected.add(row, reason, reader);
        }
      }
    }
  } catch (error) {
    if (Object.values(counts).some((count) => count > 0)) process.stderr.write(`${describe(counts)}\n`);
    // The error above says how to go on; that of the store that cannot close would hide it.
    await repository.close().catch(() => undefined);
    throw error;
  }
  await repository.close();
  printSummary(counts, describe(counts), { json });
  if (counts.rejected + counts.conflict > 0) process.exitCode = EXIT_STATUS.findings;
}

/** Imports the reader now: the rules of POST /plants take longer to load than the help. */
async function createReader(format: Format, maxLength: number): Promise<RowReader> {
  if (format === 'csv') return new (await import('./data/csv.js')).CsvReader(maxLength);
  return new (await import('./data/ndjson.js')).NdjsonReader(maxLength);
}

/**
 * Adds the plants of rows. If the database does not take one, for example because of a CHECK of the operator, the rows are
 * added in halves, so that only its row is rejected in the end.
 *
 * @param goOn what to do if the store is unavailable
 * @returns the rows with their results, as soon as these are known
 */
async function* add(repository: PlantRepository, rows: readonly Row[], goOn: string): AsyncGenerator<[Row, Result][]> {
  const plants = rows.filter((row) => row.kind === 'plant').map(({ plant }) => plant);
  let results: [Row, Result][];
  try {
    results = withResults(rows, plants.length === 0 ? [] : await repository.add(plants));
  } catch (error) {
    if (error instanceof RepositoryUnavailableError) {
      throw new OperatorError(`${error.message}; ${goOn}`, { cause: error });
    }
    if (error instanceof PlantsKeptOutError) {
      // The other plants are stored.
      results = withResults(rows, error.outcomes, error);
    } else if (plants.length === 1) {
      results = withResults(rows, [undefined], error);
    } else {
      const middle = Math.ceil(rows.length / 2);
      yield* add(repository, rows.slice(0, middle), goOn);
      yield* add(repository, rows.slice(middle), goOn);
      return;
    }
  }
  yield results;
}

/**
 * @param outcomes of the plants among the rows, in their order; undefined for a plant that the database does not take
 * @param error of such a plant
 */
function withResults(
  rows: readonly Row[],
  outcomes: readonly (Outcome | undefined)[],
  error?: unknown,
): [Row, Result][] {
  const left = [...outcomes];
  return rows.map((row) => {
    if (row.kind === 'rejected') return [row, { name: 'rejected', reason: row.reason }];
    const name = left.shift();
    if (name === undefined)
      return [row, { name: 'rejected', reason: `The database refuses it: ${errorMessage(error)}` }];
    return [row, name === 'conflict' ? { name, reason: `The id ${row.plant.id} belongs to another plant.` } : { name }];
  });
}

function describe({ created, repeated, conflict, rejected }: Readonly<Counts>): string {
  return `${created} created, ${repeated} repeated, ${counted(conflict, 'conflict')}, ${rejected} rejected`;
}

function openStdin(): Readable {
  // Node would read it as empty.
  if (fstatSync(process.stdin.fd).isDirectory()) {
    throw badUsage('stdin is a directory: pass the plants of a file, as in plant-store import - < plants.ndjson');
  }
  if (process.stdin.isTTY)
    process.stderr.write('Reading plants from stdin. End with Ctrl+D, or name a file instead.\n');
  return process.stdin;
}

/** Opens a regular file. To open a pipe could wait for ever, and no signal would end that. */
async function openFile(file: string): Promise<Readable> {
  try {
    if ((await stat(file)).isFile()) return (await open(file)).createReadStream();
  } catch (error) {
    throw unreadable(file, error);
  }
  throw badUsage(
    `${file} is not a regular file: name one, or pass its plants to stdin, as in plant-store import - < ${inShell(file)}`,
  );
}
