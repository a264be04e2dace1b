import { AggregatorRegistry, Counter, Gauge, Registry } from 'prom-client';

/** The metrics of the primary: those of its workers, which prom-client asks for and adds up, and its own. */
export class WorkerMetrics {
  readonly #workers = new AggregatorRegistry();
  readonly #own = new Registry();
  readonly restarts = new Counter({
    name: 'plant_store_worker_restarts_total',
    help: 'Workers that were started because another one had ended.',
    registers: [this.#own],
  });

  constructor() {
    new Gauge({
      name: 'process_start_time_seconds',
      help: 'Start time of the process since unix epoch in seconds.',
      registers: [this.#own],
    }).set(Math.round(Date.now() / 1_000 - process.uptime()));
  }

  /** Returns the text for Prometheus. It rejects if a worker does not answer within five seconds. */
  async text(): Promise<string> {
    return `${await this.#workers.clusterMetrics()}\n${await this.#own.metrics()}`;
  }
}

/**
 * Lets this worker answer the primary. Its answers are empty until `shareMetrics`, for example while it waits for the
 * database.
 */
export function answerPrimary(): void {
  // Its constructor listens for the requests of the primary.
  new AggregatorRegistry();
}

/** Makes these metrics the ones that a worker sends to the primary. */
export function shareMetrics(registry: Registry): void {
  AggregatorRegistry.setRegistries(registry);
}
