import { randomBytes } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import type { CompiledQuery, Kysely } from 'kysely';
import { type Outcome, PlantRepository, RepositoryUnavailableError, type StoredPlant } from './plant-repository.js';

/** The tables, as Kysely types them. */
export interface Schema {
  plants: { id: bigint; name: string; tag: string | null };
}

/** What is particular to a database: its connection, and what its errors mean. */
export interface Engine {
  readonly database: Kysely<Schema>;
  /** Whether the same statement may succeed in a moment: somebody else was in the way. */
  isTransient(error: unknown): boolean;
  /** Whether nothing can be stored for now, for a reason outside this program: a full disk. */
  isUnavailable(error: unknown): boolean;
  /** How many batches may be on their way at the same time. */
  readonly concurrency: number;
  /** Runs what inserts, so that it is durable once it is done. */
  durably<Result>(run: (database: Kysely<Schema>) => Promise<Result>): Promise<Result>;
}

/** Milliseconds between two attempts, at most; each time another part of it, so that two processes do not keep step. */
const RETRY_INTERVAL = 20;

/** Milliseconds that a check may take, at most: whoever asks for one does not wait for long. */
const CHECK_TIMEOUT = 1_000;

/** A plant that was in the way was not there any more when it was looked up: whoever deletes plants was faster. */
class VanishedError extends Error {}

/** The repository over any SQL database: one statement for the batch, and a look at what was there before. */
export class SqlPlantRepository extends PlantRepository {
  /** Since when others have been in the way, in milliseconds; who comes later does not wait for as long again. */
  #blockedSince: number | undefined;
  /** The INSERT for so many plants: to build and compile it takes longer than to run it. */
  readonly #inserts = new Map<number, CompiledQuery>();
  override readonly concurrency: number;

  /** @param timeout milliseconds that others may be in the way */
  constructor(
    private readonly engine: Engine,
    private readonly timeout: number,
  ) {
    super();
    this.concurrency = engine.concurrency;
  }

  override async add(batch: readonly StoredPlant[]): Promise<readonly Outcome[]> {
    const started = performance.now();
    for (;;) {
      try {
        const outcomes = await this.#attempt(batch);
        this.#blockedSince = undefined;
        return outcomes;
      } catch (error) {
        const transient = error instanceof VanishedError || this.engine.isTransient(error);
        if (!transient && !this.engine.isUnavailable(error)) throw error;
        this.#blockedSince ??= started;
        if (!transient || performance.now() - Math.min(this.#blockedSince, started) > this.timeout) {
          throw new RepositoryUnavailableError(`the database did not take them: ${reasonOf(error)}`, { cause: error });
        }
        // The statement adds what is missing, and so can be repeated whatever became of it.
        await setTimeout(Math.random() * RETRY_INTERVAL);
      }
    }
  }

  override async check(): Promise<void> {
    const timeout = Math.min(this.timeout, CHECK_TIMEOUT);
    const over = new AbortController();
    const late = setTimeout(timeout, undefined, { signal: over.signal }).then(() => {
      throw new Error(`it did not answer within ${timeout} ms`);
    });
    try {
      await Promise.race([this.#tryToWrite(performance.now() + timeout - RETRY_INTERVAL), late]);
    } catch (error) {
      throw new RepositoryUnavailableError(`the database takes no plants: ${reasonOf(error)}`, { cause: error });
    } finally {
      over.abort();
    }
  }

  /** @param deadline the time until which others may be in the way, as `performance.now()` tells it */
  async #tryToWrite(deadline: number): Promise<void> {
    for (;;) {
      try {
        const transaction = await this.engine.database.startTransaction().execute();
        try {
          // An id of its own each time, so that nobody who creates a plant waits for the end of this.
          const id = randomBytes(8).readBigInt64LE();
          await transaction
            .insertInto('plants')
            .values({ id, name: '', tag: null })
            .onConflict((conflict) => conflict.column('id').doNothing())
            .execute();
        } finally {
          await transaction.rollback().execute();
        }
        return;
      } catch (error) {
        if (!this.engine.isTransient(error) || performance.now() > deadline) throw error;
        await setTimeout(Math.random() * RETRY_INTERVAL);
      }
    }
  }

  override async close(): Promise<void> {
    await this.engine.database.destroy();
  }

  async #attempt(batch: readonly StoredPlant[]): Promise<readonly Outcome[]> {
    const standing = new Map<bigint, StoredPlant>();
    for (const plant of batch) {
      if (!standing.has(plant.id)) standing.set(plant.id, plant);
    }
    const created = await this.#insert([...standing.values()]);
    const others = [...standing.keys()].filter((id) => !created.has(id));
    const found = await this.#find(others);
    if (found.length < others.length) throw new VanishedError('somebody deletes plants');
    for (const plant of found) standing.set(plant.id, plant);
    return batch.map((plant) => {
      // Only the first of an id's plants in the batch can be the one that was created.
      if (created.delete(plant.id)) return 'created';
      return isSame(plant, standing.get(plant.id)) ? 'present' : 'conflict';
    });
  }

  async #insert(plants: readonly StoredPlant[]): Promise<Set<bigint>> {
    const insert = this.#inserts.get(plants.length) ?? this.#compileInsert(plants.length);
    const parameters = [...plants]
      // Two batches that wait for each other's ids would never end.
      .sort((one, other) => (one.id < other.id ? -1 : 1))
      .flatMap(({ id, name, tag }) => [id, name, tag ?? null]);
    const { rows } = await this.engine.durably((database) =>
      database.executeQuery<{ id: bigint }>({ ...insert, parameters }),
    );
    return new Set(rows.map(({ id }) => id));
  }

  #compileInsert(count: number): CompiledQuery {
    const insert = this.engine.database
      .insertInto('plants')
      // What is compiled keeps its values: those of a client would stay in memory.
      .values(Array.from({ length: count }, () => ({ id: 0n, name: '', tag: null })))
      .onConflict((conflict) => conflict.column('id').doNothing())
      .returning('id')
      .compile();
    this.#inserts.set(count, insert);
    return insert;
  }

  async #find(ids: readonly bigint[]): Promise<StoredPlant[]> {
    if (ids.length === 0) return [];
    const rows = await this.engine.database.selectFrom('plants').selectAll().where('id', 'in', ids).execute();
    return rows.map(({ id, name, tag }) => ({
      id,
      name,
      tag: tag ?? undefined,
    }));
  }
}

function reasonOf(error: unknown): string {
  // Not by its class: a driver may be of another context than we are.
  return typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : 'no reason given';
}

function isSame(plant: StoredPlant, other: StoredPlant | undefined): boolean {
  return plant.name === other?.name && plant.tag === other.tag;
}
