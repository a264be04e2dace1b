import { isRefusal } from '../../storage/engine-errors.js';
import { errorMessage } from '../../storage/error-messages.js';
import { GroupCommit } from '../../storage/group-commit.js';
import type { Outcome, PlantRepository } from '../../storage/plant-repository.js';
import type { Row } from './rows.js';

/** The result of adding a row. */
interface Result {
  readonly name: Outcome | 'rejected';
  /** Why the row's plant is not in the store. */
  readonly reason?: string;
}

/** How many rows have each result. */
export type Counts = Record<Result['name'], number>;

/** Adds the plants of rows to a repository. */
export class RowStore {
  readonly #plants: GroupCommit;

  /**
   * @param counts counts the rows that are added or reported
   * @param report called with each row whose plant is not in the store, in the order of the file
   */
  constructor(
    repository: PlantRepository,
    private readonly counts: Counts,
    private readonly report: (row: Row, reason: string) => void,
  ) {
    this.#plants = new GroupCommit(repository);
  }

  /**
   * @throws {RepositoryUnavailableError} when some of the plants may be stored or not
   * @throws {Error} because of a defect of this program
   */
  async add(rows: readonly Row[]): Promise<void> {
    // Waits for all rows, even after an error: the caller then closes the repository, which must get no further batch.
    const results = await Promise.allSettled(rows.map((row) => this.#addRow(row)));
    rows.forEach((row, index) => {
      const result = results[index];
      if (result?.status === 'fulfilled') this.#count(row, result.value);
    });
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  #count(row: Row, { name, reason }: Result): void {
    this.counts[name] += 1;
    if (reason !== undefined) this.report(row, reason);
  }

  async #addRow(row: Row): Promise<Result> {
    if (row.kind === 'rejected') return { name: 'rejected', reason: row.reason };
    try {
      const name = await this.#plants.add(row.plant);
      return name === 'conflict' ? { name, reason: `The id ${row.plant.id} belongs to another plant.` } : { name };
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return { name: 'rejected', reason: `The database refuses it: ${errorMessage(error)}` };
    }
  }
}
