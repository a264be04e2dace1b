import { setTimeout } from 'node:timers/promises';
import { messageOf } from './message-of.js';
import { type Outcome, PlantRepository, RepositoryUnavailableError, type StoredPlant } from './plant-repository.js';

/** Maximum milliseconds between two attempts. The pause is random, so that two processes do not retry in lockstep. */
const RETRY_INTERVAL = 20;

/** Maximum milliseconds of a check: health probes do not wait for long. */
const CHECK_TIMEOUT = 1_000;

/**
 * How the repository handles an error of the database: `transient` errors are retried until the timeout; `unavailable`
 * means that no plant can be stored until an operator acts, for example on a full disk. Other errors are defects.
 */
export type Failure = 'transient' | 'unavailable';

/** A repository that retries transient failures; the engines add one attempt and the meaning of their errors. */
export abstract class RetryingRepository extends PlantRepository {
  /** Time of the first failure since the last success. */
  #failingSince: number | undefined;

  /** @param timeout milliseconds after which a batch with transient failures is given up */
  constructor(private readonly timeout: number) {
    super();
  }

  /** Adds a batch in one transaction. It adds only missing plants, so it can be retried after any failure. */
  protected abstract attempt(batch: readonly StoredPlant[]): readonly Outcome[] | Promise<readonly Outcome[]>;

  /**
   * Writes a plant in a transaction that it rolls back.
   *
   * @param timeout milliseconds that it may wait for a server
   */
  protected abstract tryToWrite(timeout: number): void | Promise<void>;

  /** Returns what an error means; undefined for a defect. */
  protected abstract failureOf(error: unknown): Failure | undefined;

  /** Explains an error to the operator; completes a line such as "the database did not store them: …". */
  protected describe(error: unknown): string {
    return messageOf(error);
  }

  override async add(batch: readonly StoredPlant[]): Promise<readonly Outcome[]> {
    const started = performance.now();
    for (;;) {
      try {
        const outcomes = await this.attempt(batch);
        this.#failingSince = undefined;
        return outcomes;
      } catch (error) {
        const failure = this.failureOf(error);
        if (failure === undefined) throw error;
        // Count from the first failure of the outage, so that later batches fail fast.
        this.#failingSince ??= started;
        const elapsed = performance.now() - Math.min(this.#failingSince, started);
        if (failure === 'unavailable' || elapsed > this.timeout) {
          throw new RepositoryUnavailableError(`the database did not store them: ${this.describe(error)}`, {
            cause: error,
          });
        }
        await setTimeout(Math.random() * RETRY_INTERVAL);
      }
    }
  }

  override async check(): Promise<void> {
    const timeout = Math.min(this.timeout, CHECK_TIMEOUT);
    const finished = new AbortController();
    const timedOut = setTimeout(timeout, undefined, { signal: finished.signal }).then(() => {
      throw new Error(`it did not answer within ${timeout} ms`);
    });
    try {
      // Stop retrying one interval early, so that the last error wins over the timeout.
      await Promise.race([this.#tryToWriteUntil(performance.now() + timeout - RETRY_INTERVAL), timedOut]);
    } catch (error) {
      throw new RepositoryUnavailableError(`the database cannot store plants: ${this.describe(error)}`, {
        cause: error,
      });
    } finally {
      finished.abort();
    }
  }

  /** @param deadline the end of retries, as `performance.now()` */
  async #tryToWriteUntil(deadline: number): Promise<void> {
    for (;;) {
      try {
        await this.tryToWrite(deadline - performance.now());
        this.#failingSince = undefined;
        return;
      } catch (error) {
        if (this.failureOf(error) !== 'transient' || performance.now() > deadline) throw error;
        await setTimeout(Math.random() * RETRY_INTERVAL);
      }
    }
  }
}
