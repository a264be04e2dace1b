import { setImmediate } from 'node:timers/promises';
import type { Outcome, StoredPlant } from './plant-repository.js';
import { MAX_ID, MIN_ID } from './snapshot-page.js';
import type { SqliteDatabase } from './sqlite-driver.js';

/** Plants that are counted at once: requests wait for a quarter of a millisecond. */
const SLICE = 2_000;

/**
 * The number of plants in a database. It is counted in slices between two requests, and only when another program has
 * changed the database: SQLite keeps no count, and would read the whole table while every request waits.
 */
export class SqliteCount {
  #count = 0;
  /** The least id that is not counted yet; undefined if all are. */
  #next: bigint | undefined = MIN_ID;
  /** Changes when another connection changes the database; undefined before the first count. */
  #version: bigint | undefined;
  readonly #dataVersion;
  readonly #slice;

  constructor(database: SqliteDatabase) {
    this.#dataVersion = database.prepare('PRAGMA data_version');
    this.#slice = database.prepare(
      `SELECT count(*) AS count, max(id) AS last FROM (SELECT id FROM plants WHERE id >= ? ORDER BY id LIMIT ${SLICE})`,
    );
  }

  /** Returns the number of plants, after counting them if necessary. Call it again only after it has returned. */
  async get(): Promise<number> {
    const { data_version: version } = this.#dataVersion.get() as { readonly data_version: bigint };
    if (version !== this.#version || this.#next !== undefined) {
      this.#version = version;
      this.#count = 0;
      this.#next = MIN_ID;
    }
    while (this.#next !== undefined) {
      const { count, last } = this.#slice.get(this.#next) as { readonly count: bigint; readonly last: bigint | null };
      this.#count += Number(count);
      this.#next = last === null || last === MAX_ID ? undefined : last + 1n;
      await setImmediate();
    }
    return this.#count;
  }

  /** Adds the plants of a stored batch that are new, except those which are still to be counted. */
  add(batch: readonly StoredPlant[], outcomes: readonly Outcome[]): void {
    const next = this.#next;
    if (next === MIN_ID) return;
    batch.forEach(({ id }, index) => {
      if (outcomes[index] === 'created' && (next === undefined || id < next)) this.#count += 1;
    });
  }
}
