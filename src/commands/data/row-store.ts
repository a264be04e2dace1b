import { Logger } from '@nestjs/common';
import { errorMessage, RepositoryUnavailableError } from '../../storage/errors.js';
import { GroupCommit } from '../../storage/group-commit.js';
import type { Outcome, PlantRepository } from '../../storage/plant-repository.js';
import type { Row } from './rows.js';

/** How many rows have each result. */
export type Counts = Record<Outcome | 'rejected', number>;

/** Adds the plants of rows to a repository. */
export class RowStore {
  readonly #plants: GroupCommit;

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

  /** @throws {RepositoryUnavailableError} when some of the plants may be stored or not */
  async add(rows: readonly Row[]): Promise<void> {
    const results = rows.map((row) => this.#addRow(row));
    // Also after an error: the caller then closes the repository, which must have no more batches to add.
    await Promise.allSettled(results);
    const reasons = await Promise.all(results);
    rows.forEach((row, index) => {
      const reason = reasons[index];
      if (reason !== undefined) this.report(row, reason);
    });
  }

  /** Adds and counts a row, and returns why its plant is not in the store, if it is not. */
  async #addRow(row: Row): Promise<string | undefined> {
    if (row.kind === 'rejected') return this.#reject(row.reason);
    try {
      const outcome = await this.#plants.add(row.plant);
      this.counts[outcome] += 1;
      return outcome === 'conflict' ? `The id ${row.plant.id} belongs to another plant.` : undefined;
    } catch (error) {
      if (error instanceof RepositoryUnavailableError) throw error;
      // For example, because of a CHECK of the operator.
      return this.#reject(`The database refuses it: ${errorMessage(error)}`);
    }
  }

  #reject(reason: string): string {
    this.counts.rejected += 1;
    return reason;
  }
}
