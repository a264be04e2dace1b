import { Logger } from '@nestjs/common';
import { errorMessage, RepositoryUnavailableError } from '../../storage/errors.js';
import { GroupCommit } from '../../storage/group-commit.js';
import type { Outcome, PlantRepository, StoredPlant } from '../../storage/plant-repository.js';
import type { Row } from './rows.js';

/** What became of a row. */
interface Result {
  readonly name: Outcome | 'rejected';
  /** Why the plant of the row is not in the store. */
  readonly reason?: string;
}

/** How many rows have each result. */
export type Counts = Record<Result['name'], number>;

/** Adds the plants of rows to a repository. */
export class RowStore {
  readonly #plants: GroupCommit;
  /** Settles when all rows so far are added and reported. */
  #last: Promise<void> = Promise.resolve();

  /**
   * @param counts counts each row once its result is known, so that an interrupted import says what is stored
   * @param report called with each row whose plant is not in the store, in the order of the file
   */
  constructor(
    repository: PlantRepository,
    private readonly counts: Counts,
    private readonly report: (row: Row, reason: string) => void,
  ) {
    // GroupCommit writes lines for the log of a service. An import itself says what became of its rows.
    Logger.overrideLogger(false);
    this.#plants = new GroupCommit(repository);
  }

  /**
   * Adds rows, and waits for those of the call before: a batch has rows of both, and few rows are in memory.
   *
   * @throws {RepositoryUnavailableError} when some of those may be stored or not
   */
  async add(rows: readonly Row[]): Promise<void> {
    const before = this.#last;
    this.#last = this.#addAndReport(rows, before);
    // The next call or `end` throws it.
    this.#last.catch(() => undefined);
    await before;
  }

  /**
   * Waits for the rows of the last call.
   *
   * @throws {RepositoryUnavailableError} when some of them may be stored or not
   */
  async end(): Promise<void> {
    await this.#last;
  }

  async #addAndReport(rows: readonly Row[], before: Promise<void>): Promise<void> {
    const results = await Promise.all(rows.map((row) => this.#addRow(row)));
    await before;
    rows.forEach((row, index) => {
      const reason = results[index]?.reason;
      if (reason !== undefined) this.report(row, reason);
    });
  }

  async #addRow(row: Row): Promise<Result> {
    const result = row.kind === 'plant' ? await this.#addPlant(row.plant) : { name: row.kind, reason: row.reason };
    this.counts[result.name] += 1;
    return result;
  }

  async #addPlant(plant: StoredPlant): Promise<Result> {
    try {
      const name = await this.#plants.add(plant);
      return name === 'conflict' ? { name, reason: `The id ${plant.id} belongs to another plant.` } : { name };
    } catch (error) {
      if (error instanceof RepositoryUnavailableError) throw error;
      // For example, because of a CHECK of the operator.
      return { name: 'rejected', reason: `The database refuses it: ${errorMessage(error)}` };
    }
  }
}
