import { AggregatorRegistry, Counter, Gauge, Registry } from 'prom-client';

/** The metrics of the primary: its own, and those of its workers, which prom-client requests and adds up. */
export class PrimaryMetrics {
  readonly #workers = new AggregatorRegistry();
  readonly #own = new Registry();
  readonly restarts = new Counter({
    name: 'plant_store_worker_restarts_total',
    help: 'Workers that were started because another one had ended or could not be created.',
    registers: [this.#own],
  });

  constructor() {
    new Gauge({
      name: 'process_start_time_seconds',
      help: 'Start time of the process since unix epoch in seconds.',
      registers: [this.#own],
    }).set(Math.round(Date.now() / 1_000 - process.uptime()));
  }

  /** Returns the text for Prometheus. */
  async text(): Promise<string> {
    return `${await this.#textOfWorkers()}\n${await this.#own.metrics()}`;
  }

  /** Returns a comment if a worker hangs or ends meanwhile: Prometheus then still gets the metrics of this process. */
  async #textOfWorkers(): Promise<string> {
    try {
      return await this.#workers.clusterMetrics();
    } catch (error) {
      return `# The metrics of the workers are missing: ${(error as Error).message}`;
    }
  }
}

/**
 * Lets this worker answer the primary's requests for metrics. The answers are empty until `shareMetrics`, for example while
 * the worker waits for the database.
 */
export function answerPrimary(): void {
  // The constructor listens for the requests of the primary.
  new AggregatorRegistry();
}

/** Makes these metrics the ones that a worker sends to the primary. */
export function shareMetrics(registry: Registry): void {
  AggregatorRegistry.setRegistries(registry);
}
