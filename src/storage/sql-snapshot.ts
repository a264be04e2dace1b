import { unavailable } from './errors.js';
import { COLUMN_NAMES, plantsOf } from './plant-columns.js';
import type { PlantSnapshot, StoredPlant } from './plant-repository.js';

const PAGE_PLANTS = 4_096;

/** Bytes of the texts with which a page is full: many of the longest plants would not fit into memory. */
const PAGE_LENGTH = 1_048_576;

const COLUMNS = COLUMN_NAMES.join();

/** A connection in a transaction, which reads the plants of one moment. */
export interface SnapshotConnection {
  /** The engine's aggregate function that makes a JSON array. */
  readonly arrayFunction: string;
  /** SQL for the bytes of a plant's texts, for which the engine reads no long text. */
  readonly byteLength: string;
  /** Runs a query, and returns its rows as arrays. */
  query(sql: string): Promise<unknown[][]>;
  close(): Promise<void>;
}

/** Takes the snapshot of a running store, whose table must be there. */
export async function requireSnapshot(open: () => Promise<PlantSnapshot | undefined>): Promise<PlantSnapshot> {
  try {
    const snapshot = await open();
    if (snapshot === undefined) throw new Error('it has no table of plants');
    return snapshot;
  } catch (error) {
    throw unavailable('the database cannot be read', error);
  }
}

/** A snapshot of either engine. Its queries have no parameters, whose syntax differs. */
export class SqlSnapshot implements PlantSnapshot {
  constructor(private readonly connection: SnapshotConnection) {}

  async count(): Promise<number> {
    const [count] = await this.#query('SELECT count(*) FROM plants');
    return Number(count);
  }

  async find(ids: readonly bigint[]): Promise<readonly StoredPlant[]> {
    if (ids.length === 0) return [];
    return this.#read(`SELECT ${COLUMNS} FROM plants WHERE id IN (${ids.map(literal).join()})`);
  }

  async *pages(after?: bigint): AsyncIterable<readonly StoredPlant[]> {
    let last = after;
    do {
      const page = await this.#read(pageAfter(last, this.connection.byteLength));
      if (page.length > 0) yield page;
      last = page.at(-1)?.id;
    } while (last !== undefined);
  }

  close(): Promise<void> {
    return this.connection.close();
  }

  /** Reads plants as a JSON array for each column: the drivers take three times as long to read a row for each plant. */
  async #read(plants: string): Promise<StoredPlant[]> {
    const columns = COLUMN_NAMES.map((name) => `CAST(${this.connection.arrayFunction}(${name}) AS text)`);
    return plantsOf((await this.#query(`SELECT ${columns.join()} FROM (${plants}) AS page`)) as (string | null)[]);
  }

  /** Returns the only row. */
  async #query(sql: string): Promise<unknown[]> {
    try {
      return (await this.connection.query(sql))[0] ?? [];
    } catch (error) {
      throw unavailable('the database cannot be read', error);
    }
  }
}

/**
 * Selects as many of the next plants as fit into a page. The database adds up their lengths without reading long texts,
 * and ROWS makes the sum cheap.
 */
function pageAfter(last: bigint | undefined, byteLength: string): string {
  const next = last === undefined ? 'true' : `id > ${literal(last)}`;
  return `
    SELECT ${COLUMNS} FROM plants
    WHERE ${next} AND id <= (
      SELECT max(id) FROM (
        SELECT id, sum(length) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) - length AS before
        FROM (SELECT id, ${byteLength} AS length FROM plants WHERE ${next} ORDER BY id LIMIT ${PAGE_PLANTS}) AS lengths
      ) AS sums
      WHERE before < ${PAGE_LENGTH}
    )
    ORDER BY id LIMIT ${PAGE_PLANTS}`;
}

/** Writes an id as SQL. PostgreSQL takes the least one for a numeric if it is not quoted. */
function literal(id: bigint): string {
  return `CAST('${id}' AS bigint)`;
}
