import { setImmediate as nextTurn } from 'node:timers/promises';
import { startError, unavailableError } from '../errors.js';
import { plantOf } from '../plant-rows.js';
import type { PlantSnapshot, StoredPlant } from '../plant-repository.js';
import {
  assertExists,
  describe,
  firstValue,
  IN_MEMORY,
  openDatabase,
  prepare,
  type SqliteDatabase,
} from './database.js';
import { readVersion, SELECT } from './schema.js';

/** Rows that are read before the process does other work, because reading from SQLite blocks it. */
const ROWS_IN_A_TURN = 100;

/**
 * Takes a snapshot on a connection of its own, so that a writer goes on. Taking it changes neither the schema nor the
 * journal mode. While a snapshot is open, a checkpoint cannot reset the write-ahead log, which grows.
 *
 * @throws {OperatorError} when the database cannot be read
 */
export async function openSnapshot(file: string): Promise<PlantSnapshot> {
  if (file === IN_MEMORY) throw startError(file, 'no other connection can open it');
  assertExists(file);
  return openDatabase(file, (database) => {
    // The transaction takes its snapshot when it reads for the first time.
    database.exec('BEGIN');
    readVersion(database);
    return new SqliteSnapshot(database);
  });
}

class SqliteSnapshot implements PlantSnapshot {
  /**
   * Fields, because an iterator of @photostructure/sqlite 2.6 does not keep its statement from the garbage collection.
   * Reading the next row would crash the process then.
   */
  readonly #all;
  readonly #after;
  readonly #find;

  constructor(private readonly database: SqliteDatabase) {
    this.#all = prepare(database, `${SELECT} ORDER BY id`);
    this.#after = prepare(database, `${SELECT} WHERE id > ? ORDER BY id`);
    this.#find = prepare(database, `${SELECT} WHERE id = ?`);
  }

  count(): Promise<number> {
    return this.#read(() => Number(firstValue(this.database, 'SELECT count(*) FROM plants')));
  }

  find(ids: readonly bigint[]): Promise<readonly StoredPlant[]> {
    return this.#read(() => ids.flatMap((id) => this.#find.all(id) as unknown[][]).map(plantOf));
  }

  async *plants(after?: bigint): AsyncIterable<StoredPlant> {
    let rows = 0;
    try {
      const found = after === undefined ? this.#all.iterate() : this.#after.iterate(after);
      for (const row of found as Iterable<unknown[]>) {
        yield plantOf(row);
        rows += 1;
        if (rows % ROWS_IN_A_TURN === 0) await nextTurn();
      }
    } catch (error) {
      throw unavailableError(error, describe(error));
    }
  }

  async close(): Promise<void> {
    this.database.close();
  }

  async #read<Result>(query: () => Result): Promise<Result> {
    // Lets a signal arrive before the query blocks the process.
    await nextTurn();
    try {
      return query();
    } catch (error) {
      throw unavailableError(error, describe(error));
    }
  }
}
