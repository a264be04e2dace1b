import { existsSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { COLUMN_NAMES, lengthOf, plantOf, type PlantRow, plantsOf } from './plant-columns.js';
import type { PlantSnapshot, StoredPlant } from './plant-repository.js';
import { MAX_ID, MIN_ID, PAGE_LENGTH, PAGE_PLANTS, unreadable } from './snapshot-page.js';
import { firstValue, openSqliteDatabase, prepare, type SqliteDatabase } from './sqlite-database.js';
import { sqliteStartError } from './sqlite-errors.js';
import { assertKnownSchema, hasPlants } from './sqlite-schema.js';

const PLANTS = `SELECT ${COLUMN_NAMES.join()} FROM plants`;
const PAGE = `${PLANTS} WHERE id >= ? ORDER BY id LIMIT ${PAGE_PLANTS}`;
const LENGTH = COLUMN_NAMES.map((name) => `ifnull(length(${name}), 0)`).join(' + ');

/** The next plants, or none if their texts are too long for one page. */
const SHORT_PAGE = `
  SELECT ${COLUMN_NAMES.map((name) => `json_group_array(${name})`).join()} FROM (${PAGE})
  WHERE (SELECT sum(${LENGTH}) FROM (${PAGE})) <= ${PAGE_LENGTH}`;

/**
 * Takes a snapshot of a file on a connection of its own, so that a writer goes on. It changes neither its schema nor its
 * journal mode. While it is open, a checkpoint cannot reset the write-ahead log, which grows.
 *
 * @returns undefined if there is no file, or no table of plants in it
 * @throws the error of SQLite, or UnusableDatabaseError
 */
export async function openSqliteSnapshot(file: string): Promise<PlantSnapshot | undefined> {
  if (!existsSync(file)) return undefined;
  const database = await openSqliteDatabase(file);
  try {
    // The transaction takes its snapshot when it reads for the first time.
    database.exec('BEGIN');
    assertKnownSchema(database);
    if (hasPlants(database)) return new SqliteSnapshot(database);
  } catch (error) {
    database.close();
    throw error;
  }
  database.close();
  return undefined;
}

/**
 * Takes a snapshot of a file that no repository has open, such as a backup.
 *
 * @returns undefined if there is no file, or no table of plants in it
 * @throws {RepositoryStartError} when it cannot be opened
 */
export async function openSqliteFile(file: string): Promise<PlantSnapshot | undefined> {
  try {
    return await openSqliteSnapshot(file);
  } catch (error) {
    throw sqliteStartError(file, error);
  }
}

class SqliteSnapshot implements PlantSnapshot {
  readonly #select;
  readonly #selectPage;
  readonly #selectFrom;

  constructor(private readonly database: SqliteDatabase) {
    this.#select = prepare(database, `${PLANTS} WHERE id = ?`);
    this.#selectPage = prepare(database, SHORT_PAGE);
    this.#selectFrom = prepare(database, `${PLANTS} WHERE id >= ? ORDER BY id`);
  }

  count(): Promise<number> {
    return Promise.resolve(Number(firstValue(this.database, 'SELECT count(*) FROM plants')));
  }

  find(ids: readonly bigint[]): Promise<readonly StoredPlant[]> {
    const rows = ids.flatMap((id) => this.#select.all(id) as PlantRow[]);
    return Promise.resolve(rows.map(plantOf));
  }

  async *pages(after?: bigint): AsyncIterable<readonly StoredPlant[]> {
    try {
      for (const page of this.#pages(after)) {
        yield page;
        // Lets a signal arrive: reading from SQLite never waits.
        await setImmediate();
      }
    } catch (error) {
      throw unreadable(error);
    }
  }

  *#pages(after?: bigint): Iterable<readonly StoredPlant[]> {
    let last = after;
    while (last !== MAX_ID) {
      const page = this.#pageFrom(last === undefined ? MIN_ID : last + 1n);
      last = page.at(-1)?.id;
      if (last === undefined) return;
      yield page;
    }
  }

  #pageFrom(from: bigint): readonly StoredPlant[] {
    const pages = this.#selectPage.all(from, from) as (readonly string[])[];
    const plants = pages.flatMap(plantsOf);
    return plants.length > 0 ? plants : this.#longPageFrom(from);
  }

  /** Reads one plant after another, as many as fit into a page: all of them may not fit into memory. */
  #longPageFrom(from: bigint): readonly StoredPlant[] {
    const page: StoredPlant[] = [];
    let length = 0;
    for (const row of this.#selectFrom.iterate(from) as Iterable<PlantRow>) {
      const plant = plantOf(row);
      page.push(plant);
      length += lengthOf(plant);
      if (page.length >= PAGE_PLANTS || length >= PAGE_LENGTH) break;
    }
    return page;
  }

  close(): Promise<void> {
    this.database.close();
    return Promise.resolve();
  }
}
