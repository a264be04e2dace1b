import { setImmediate as nextTurn } from 'node:timers/promises';
import { startError } from '../errors.js';
import type { StoredPlant } from '../plant-repository.js';
import { assertExists, openDatabase, prepare } from './database.js';
import { readVersion } from './schema.js';

/** Rows that are read before the process does other work, because reading from SQLite blocks it. */
const ROWS_IN_A_TURN = 100;

/**
 * Reads the plants of a database that exists, as they are at one moment, in the order of their ids. Changes nothing,
 * neither the schema nor the journal mode. Until it ends, no checkpoint can reset the write-ahead log, which grows.
 *
 * @throws {OperatorError} when the database cannot be read
 */
export async function* readPlants(file: string): AsyncGenerator<StoredPlant> {
  assertExists(file);
  // On a connection of its own, so that a writer goes on.
  const reading = await openDatabase(file, (database) => {
    // The transaction takes its snapshot when it reads for the first time.
    database.exec('BEGIN');
    readVersion(database);
    return { database, plants: prepare(database, 'SELECT id, name, tag FROM plants ORDER BY id') };
  });
  try {
    let rows = 0;
    // `reading` keeps the statement to the end: an iterator of @photostructure/sqlite 2.6 does not, and reading the
    // next row after the garbage collection of its statement would crash the process.
    for (const [id, name, tag] of reading.plants.iterate() as Iterable<[bigint, string, string | null]>) {
      yield { id, name, tag: tag ?? undefined };
      rows += 1;
      if (rows % ROWS_IN_A_TURN === 0) await nextTurn();
    }
  } catch (error) {
    throw startError(file, error);
  } finally {
    reading.database.close();
  }
}
