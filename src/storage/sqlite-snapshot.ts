import { messageOf } from './message-of.js';
import { type PlantSnapshot, RepositoryUnavailableError, type StoredPlant } from './plant-repository.js';
import { MAX_ID, MIN_ID, PAGE_LENGTH, PAGE_PLANTS, plantOf, type PlantRow } from './snapshot-page.js';
import { openSqliteDatabase, type SqliteDatabase, type SqliteDriver } from './sqlite-driver.js';

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
  readonly #selectFrom;

  constructor(private readonly database: SqliteDatabase) {
    this.#select = database.prepareQuery('SELECT id, name, tag FROM plants WHERE id = ?');
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
    if (after === MAX_ID) return;
    let page: StoredPlant[] = [];
    let length = 0;
    for (const row of this.#selectFrom(after === undefined ? MIN_ID : after + 1n) as Iterable<PlantRow>) {
      page.push(plantOf(row));
      length += row[1].length + (row[2]?.length ?? 0);
      if (page.length < PAGE_PLANTS && length < PAGE_LENGTH) continue;
      yield page;
      page = [];
      length = 0;
    }
    if (page.length > 0) yield page;
  }

  close(): Promise<void> {
    this.database.close();
    return Promise.resolve();
  }
}
