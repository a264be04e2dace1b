import { messageOf } from './message-of.js';
import { type PlantSnapshot, RepositoryUnavailableError, type StoredPlant } from './plant-repository.js';
import {
  MAX_ID,
  MIN_ID,
  PAGE_LENGTH,
  PAGE_PLANTS,
  type PageRow,
  plantOf,
  plantsOf,
  type PlantRow,
} from './snapshot-page.js';
import { openSqliteDatabase, type SqliteDatabase, type SqliteDriver } from './sqlite-driver.js';

const PLANTS = `SELECT id, name, tag FROM plants WHERE id >= ? ORDER BY id LIMIT ${PAGE_PLANTS}`;

/** The next plants, or none if their texts are too long for one page. */
const SHORT_PAGE = `
  SELECT json_group_array(id), json_group_array(name), json_group_array(tag) FROM (${PLANTS})
  WHERE (SELECT sum(length(name) + ifnull(length(tag), 0)) FROM (${PLANTS})) <= ${PAGE_LENGTH}`;

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
    // A service may be starting or stopping.
    database.exec('PRAGMA busy_timeout = 5000');
    database.exec('BEGIN');
    // The transaction takes its snapshot when it reads for the first time.
    database.prepare('SELECT id FROM plants LIMIT 1').get();
    return new SqliteSnapshot(database);
  } catch (error) {
    database?.close();
    throw unreadable(error);
  }
}

function unreadable(error: unknown): RepositoryUnavailableError {
  return new RepositoryUnavailableError(`the database cannot be read: ${messageOf(error)}`, { cause: error });
}

class SqliteSnapshot implements PlantSnapshot {
  readonly #select;
  readonly #selectPage;
  readonly #selectFrom;

  constructor(private readonly database: SqliteDatabase) {
    this.#select = database.prepareQuery('SELECT id, name, tag FROM plants WHERE id = ?');
    this.#selectPage = database.prepareQuery(SHORT_PAGE);
    this.#selectFrom = database.prepareQuery('SELECT id, name, tag FROM plants WHERE id >= ? ORDER BY id');
  }

  count(): Promise<number> {
    const { count } = this.database.prepare('SELECT count(*) AS count FROM plants').get() as { count: bigint };
    return Promise.resolve(Number(count));
  }

  find(ids: readonly bigint[]): Promise<readonly StoredPlant[]> {
    return Promise.resolve(ids.flatMap((id) => [...(this.#select(id) as Iterable<PlantRow>)].map(plantOf)));
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- SQLite has the rows at once
  async *pages(after?: bigint): AsyncIterable<readonly StoredPlant[]> {
    try {
      yield* this.#pages(after);
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
    const plants = [...(this.#selectPage(from, from) as Iterable<PageRow>)].flatMap(plantsOf);
    return plants.length > 0 ? plants : this.#longPageFrom(from);
  }

  /** Reads one plant after another, as many as fit into a page: all of them may not fit into memory. */
  #longPageFrom(from: bigint): readonly StoredPlant[] {
    const page: StoredPlant[] = [];
    let length = 0;
    for (const row of this.#selectFrom(from) as Iterable<PlantRow>) {
      page.push(plantOf(row));
      length += row[1].length + (row[2]?.length ?? 0);
      if (page.length >= PAGE_PLANTS || length >= PAGE_LENGTH) break;
    }
    return page;
  }

  close(): Promise<void> {
    this.database.close();
    return Promise.resolve();
  }
}
