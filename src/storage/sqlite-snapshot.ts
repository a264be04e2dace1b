import { existsSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import type { PlantSnapshot, StoredPlant } from './plant-repository.js';
import { COLUMN_NAMES, lengthOf, plantOf, type PlantRow, plantsOf } from './plant-columns.js';
import { MAX_ID, MIN_ID, PAGE_LENGTH, PAGE_PLANTS, unreadable } from './snapshot-page.js';
import { openSqliteDatabase, type SqliteDatabase, type SqliteDriver } from './sqlite-driver.js';
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
 * Takes a snapshot on a read-only connection of its own, so that the writer goes on. While it is open, a checkpoint
 * cannot reset the write-ahead log, which grows.
 *
 * @throws {RepositoryUnavailableError} when the database cannot be read
 */
export async function openSqliteSnapshot(file: string, driver?: SqliteDriver): Promise<PlantSnapshot> {
  if (file === ':memory:') throw unreadable('no other connection can open a database in memory');
  let database: SqliteDatabase | undefined;
  try {
    database = await openSqliteDatabase(file, driver, { readOnly: true });
    begin(database);
    return new SqliteSnapshot(database);
  } catch (error) {
    database?.close();
    throw unreadable(error);
  }
}

/**
 * Takes a snapshot of a file that no repository has open, such as a backup. It changes neither its schema nor its journal
 * mode. The connection may write, because the last one of a database with a write-ahead log has to remove that.
 *
 * @returns undefined if there is no file, or no table of plants in it
 * @throws {RepositoryStartError} when it cannot be opened
 */
export async function openSqliteFileSnapshot(file: string, driver?: SqliteDriver): Promise<PlantSnapshot | undefined> {
  let database: SqliteDatabase | undefined;
  try {
    if (!existsSync(file)) return undefined;
    database = await openSqliteDatabase(file, driver);
    begin(database);
    assertKnownSchema(database);
    if (hasPlants(database)) return new SqliteSnapshot(database);
    database.close();
    return undefined;
  } catch (error) {
    database?.close();
    throw sqliteStartError(file, error);
  }
}

/** Begins the transaction of a snapshot, which it takes when it reads for the first time. */
function begin(database: SqliteDatabase): void {
  // A service may be starting or stopping.
  database.exec('PRAGMA busy_timeout = 5000');
  database.exec('BEGIN');
  database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get();
}

class SqliteSnapshot implements PlantSnapshot {
  readonly #select;
  readonly #selectPage;
  readonly #selectFrom;

  constructor(private readonly database: SqliteDatabase) {
    this.#select = database.prepareQuery(`${PLANTS} WHERE id = ?`);
    this.#selectPage = database.prepareQuery(SHORT_PAGE);
    this.#selectFrom = database.prepareQuery(`${PLANTS} WHERE id >= ? ORDER BY id`);
  }

  count(): Promise<number> {
    const { count } = this.database.prepare('SELECT count(*) AS count FROM plants').get() as { count: bigint };
    return Promise.resolve(Number(count));
  }

  find(ids: readonly bigint[]): Promise<readonly StoredPlant[]> {
    return Promise.resolve(ids.flatMap((id) => [...(this.#select(id) as Iterable<PlantRow>)].map(plantOf)));
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
    const plants = [...(this.#selectPage(from, from) as Iterable<readonly string[]>)].flatMap(plantsOf);
    return plants.length > 0 ? plants : this.#longPageFrom(from);
  }

  /** Reads one plant after another, as many as fit into a page: all of them may not fit into memory. */
  #longPageFrom(from: bigint): readonly StoredPlant[] {
    const page: StoredPlant[] = [];
    let length = 0;
    for (const row of this.#selectFrom(from) as Iterable<PlantRow>) {
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
