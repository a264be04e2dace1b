import { closeSync, fstatSync, openSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { addAbortSignal, type Readable } from 'node:stream';
import type { Command } from 'commander';
import { type Configuration, loadConfiguration } from '../config/configuration.js';
import { CommandError, fileError } from '../process/command-error.js';
import { EXIT_STATUS } from '../process/exit-status.js';
import { abortOnSignals } from '../process/stop-signals.js';
import type { PlantRepository, StoredPlant } from '../storage/plant-repository.js';
import { DryRunRepository } from './data/dry-run-repository.js';
import { type Format, formatOption } from './data/formats.js';
import { PlantWriter } from './data/plant-writer.js';
import { withProgress } from './data/progress.js';
import type { Row } from './data/rows.js';
import { openStore, openStoreSnapshot } from './open-store.js';
import { counted, JSON_OPTION, printSummary, type ReportOptions } from './report.js';

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
  const configuration = loadConfiguration();
  // Before the store, which is created if it does not exist.
  const stream = file === undefined || file === '-' ? process.stdin : await openFile(file);
  const rejects = new Rejects(options.rejects);
  const repository = await openTarget(configuration, options.dryRun ?? false);
  // Only now, because a signal ends the wait for a server, or for the writer of a pipe, at once.
  const signal = abortOnSignals();
  const writer = new PlantWriter(repository);
  try {
    // The rules of POST /plants take longer to load than the help.
    const { readRows } = await import('./data/read-rows.js');
    const batches = readRows(options.format, addAbortSignal(signal, stream), configuration.bodyLimit);
    await withProgress(
      'rows',
      () => undefined,
      async (update) => {
        for await (const batch of batches) {
          await addRows(batch, writer, rejects);
          update(writer.count + rejects.count);
        }
      },
    );
  } catch (error) {
    if (signal.aborted || writer.count > 0) process.stderr.write(`${describe(writer, rejects)}\n`);
    signal.throwIfAborted();
    throw error;
  } finally {
    rejects.close();
    await repository.close();
  }
  const words = describe(writer, rejects);
  printSummary(
    { ...writer.outcomes, rejected: rejects.count, dryRun: options.dryRun },
    options.dryRun ? `dry run: ${words}` : words,
    options,
  );
  if (rejects.count + writer.outcomes.conflict > 0) process.exitCode = EXIT_STATUS.findings;
}

async function openFile(file: string): Promise<Readable> {
  const handle = await open(file);
  if ((await handle.stat()).isDirectory()) throw new CommandError(`${file} is a directory: name a file`);
  return handle.createReadStream();
}

async function openTarget(configuration: Configuration, isDryRun: boolean): Promise<PlantRepository> {
  const { databaseUrl } = configuration;
  if (!isDryRun) return openStore(databaseUrl, 'DATABASE_URL', configuration);
  return DryRunRepository.open(await openStoreSnapshot(databaseUrl, 'DATABASE_URL', configuration));
}

async function addRows(rows: readonly Row[], writer: PlantWriter, rejects: Rejects): Promise<void> {
  const plants: StoredPlant[] = [];
  for (const { plant } of rows) if (plant !== undefined) plants.push(plant);
  const conflicts = new Set(plants.length === 0 ? [] : await writer.add(plants));
  for (const { line, plant, reason } of rows) {
    if (reason !== undefined) rejects.add(line, reason);
    else if (plant !== undefined && conflicts.has(plant)) rejects.addConflict(line, plant);
  }
}

function describe({ outcomes }: PlantWriter, rejects: Rejects): string {
  const { created, repeated, conflict } = outcomes;
  return `${created} created, ${repeated} repeated, ${counted(conflict, 'conflict')}, ${rejects.count} rejected`;
}

/** Writes the number of the line of each rejected row, and the reason. */
class Rejects {
  /** Number of rows that are no plants. */
  count = 0;
  readonly #descriptor: number | undefined;

  /**
   * @param file stderr without one
   * @throws {CommandError} if it has something, which may be the plants or the database
   */
  constructor(private readonly file: string | undefined) {
    if (file === undefined) return;
    this.#descriptor = openSync(file, 'a', 0o600);
    if (fstatSync(this.#descriptor).size === 0) return;
    throw new CommandError(`${file} already exists: name another file for the rejected rows`);
  }

  add(line: number, reason: string): void {
    this.count += 1;
    this.#write(line, reason);
  }

  addConflict(line: number, { id }: StoredPlant): void {
    this.#write(line, `The id ${id} belongs to another plant.`);
  }

  #write(line: number, reason: string): void {
    const text = `line ${line}: ${reason}\n`;
    try {
      // Unlike writeSync, it writes the rest, or fails, if a full disk takes a part of the line.
      if (this.#descriptor === undefined) process.stderr.write(text);
      else writeFileSync(this.#descriptor, text);
    } catch (error) {
      throw fileError(this.file ?? 'stderr', error);
    }
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
  }
}
