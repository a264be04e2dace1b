import { setImmediate as nextTurn } from 'node:timers/promises';
import { unavailableError } from '../errors.js';
import type { PlantSnapshot, StoredPlant } from '../plant-repository.js';
import { assertExists, firstValue, openDatabase, prepare, type SqliteDatabase } from './database.js';
import { readVersion } from './schema.js';

/** Rows that are read before the process does other work, because reading from SQLite blocks it. */
const ROWS_IN_A_TURN = 100;

/**
 * Takes a snapshot on a connection of its own, so that a writer goes on. Taking it changes neither the schema nor the
 * journal mode. While a snapshot is open, a checkpoint cannot reset the write-ahead log, which grows.
 *
 * @throws {OperatorError} when the database cannot be read
 */
export async function openSnapshot(file: string): Promise<PlantSnapshot> {
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
   * A field, because an iterator of @photostructure/sqlite 2.6 does not keep its statement from the garbage collection.
   * Reading the next row would crash the process then.
   */
  readonly #plants;

  constructor(private readonly database: SqliteDatabase) {
    this.#plants = prepare(database, 'SELECT id, name, tag FROM plants ORDER BY id');
  }

  async count(): Promise<number> {
    try {
      return Number(firstValue(this.database, 'SELECT count(*) FROM plants'));
    } catch (error) {
      throw unavailableError(error);
    }
  }

  async *plants(): AsyncIterable<StoredPlant> {
    let rows = 0;
    try {
      for (const [id, name, tag] of this.#plants.iterate() as Iterable<[bigint, string, string | null]>) {
        yield { id, name, tag: tag ?? undefined };
        rows += 1;
        if (rows % ROWS_IN_A_TURN === 0) await nextTurn();
      }
    } catch (error) {
      throw unavailableError(error);
    }
  }

  async close(): Promise<void> {
    this.database.close();
  }
}
