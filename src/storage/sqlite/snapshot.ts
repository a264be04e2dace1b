import { setImmediate as nextTurn } from 'node:timers/promises';
import { unavailableError } from '../error-messages.js';
import { plantOf } from '../plant-rows.js';
import type { PlantSnapshot, StoredPlant } from '../plant-repository.js';
import { describeSqliteError } from './errors.js';
import { databaseExists, openSqliteDatabase } from './open.js';
import { readSchemaState, SELECT } from './schema.js';
import { firstValue, prepare, type SqliteDatabase } from './statements.js';

/** Rows that are read before the process does other work, because reading from SQLite blocks it. */
const ROWS_IN_A_TURN = 100;

/**
 * Takes a snapshot on a connection of its own, so that a writer goes on. Taking it changes neither the schema nor the
 * journal mode. While a snapshot is open, a checkpoint cannot reset the write-ahead log, which grows.
 *
 * @returns undefined if there is no file, or no table of plants in it
 */
export async function openSqliteSnapshot(file: string): Promise<PlantSnapshot | undefined> {
  if (!databaseExists(file)) return undefined;
  const { database, result: state } = await openSqliteDatabase(file, (opened) => {
    // The transaction takes its snapshot when it reads for the first time.
    opened.exec('BEGIN');
    return readSchemaState(opened);
  });
  if (state.hasPlants) return new SqliteSnapshot(database, file);
  database.close();
  return undefined;
}

class SqliteSnapshot implements PlantSnapshot {
  /**
   * Statements that are being read. An iterator of @photostructure/sqlite 2.6 does not refer to its statement. After the
   * garbage collection of the statement, reading the next row would crash the process.
   */
  readonly #reading = new Set<object>();

  constructor(
    private readonly database: SqliteDatabase,
    private readonly file: string,
  ) {}

  count(): Promise<number> {
    return this.#read(() => Number(firstValue(this.database, 'SELECT count(*) FROM plants')));
  }

  find(ids: readonly bigint[]): Promise<readonly StoredPlant[]> {
    return this.#read(() => {
      const find = prepare(this.database, `${SELECT} WHERE id = ?`);
      return ids.flatMap((id) => find.all(id) as unknown[][]).map(plantOf);
    });
  }

  async *plants(after?: bigint): AsyncIterable<StoredPlant> {
    const condition = after === undefined ? '' : 'WHERE id > ?';
    const values = after === undefined ? [] : [after];
    const all = await this.#read(() => prepare(this.database, `${SELECT} ${condition} ORDER BY id`));
    this.#reading.add(all);
    let rows = 0;
    try {
      for (const row of all.iterate(...values) as Iterable<unknown[]>) {
        yield plantOf(row);
        rows += 1;
        if (rows % ROWS_IN_A_TURN === 0) await nextTurn();
      }
    } catch (error) {
      throw unavailableError('read', describeSqliteError(error), { database: this.file, cause: error });
    } finally {
      this.#reading.delete(all);
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
      throw unavailableError('read', describeSqliteError(error), { database: this.file, cause: error });
    }
  }
}
