import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { AUTHENTICATION_REFUSED, type AuthenticationRefused } from '../auth/refusals.js';
import { REFUSAL_REASONS } from '../auth/token-verifier.js';
import { ERROR_TABLE } from '../contract/error-table.js';
import { REQUEST, type RequestMessage } from '../http/public-response.js';
import { BATCH, type BatchMessage, type GroupCommit } from '../storage/group-commit.js';

/** Seconds, from an answer without the store to one that waited as long as any does. */
const DURATIONS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** What Prometheus is told. Each label has few values, which no client chooses. */
export class Metrics {
  /** Not the global one, which belongs to whoever shares the process. */
  readonly registry = new Registry();

  readonly #requests = new Counter({
    name: 'plant_store_http_requests_total',
    help: 'Answers of the public port, by status and error number; a success has no error number.',
    labelNames: ['status', 'error'],
    registers: [this.registry],
  });
  readonly #durations = new Histogram({
    name: 'plant_store_http_request_duration_seconds',
    help: 'Time from the head of a request to its answer.',
    buckets: DURATIONS,
    registers: [this.registry],
  });
  readonly #plants = new Counter({
    name: 'plant_store_plants_total',
    help: 'Plants by what became of them: created, repeated (there already) or conflicting (refused).',
    labelNames: ['outcome'],
    registers: [this.registry],
  });
  readonly #batchSizes = new Histogram({
    name: 'plant_store_batch_size_plants',
    help: 'Plants that shared a commit.',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256],
    registers: [this.registry],
  });
  readonly #commitDurations = new Histogram({
    name: 'plant_store_commit_duration_seconds',
    help: 'Time for a batch to be durable.',
    buckets: DURATIONS,
    registers: [this.registry],
  });
  readonly #refusals = new Counter({
    name: 'plant_store_authentication_failures_total',
    help: 'Requests refused for their token, by reason.',
    labelNames: ['reason'],
    registers: [this.registry],
  });
  readonly #created = this.#plants.labels('created');
  readonly #repeated = this.#plants.labels('repeated');
  readonly #conflicting = this.#plants.labels('conflicting');
  /** By error number, or by status where there is none; looking one up by its labels takes longer than counting. */
  readonly #answers = new Map<number, Counter.Internal>([
    ...[200, 204].map((status): [number, Counter.Internal] => [status, this.#requests.labels(`${status}`, '')]),
    ...Object.keys(ERROR_TABLE).map((error): [number, Counter.Internal] => [
      Number(error),
      this.#requests.labels('400', error),
    ]),
  ]);

  /** Counts from now on. */
  constructor(commit: GroupCommit) {
    new Gauge({
      name: 'plant_store_queue_depth_plants',
      help: 'Plants that wait for their batch.',
      registers: [this.registry],
      collect() {
        this.set(commit.depth);
      },
    });
    collectDefaultMetrics({ register: this.registry });
    // A series that is there before it counts shows its first failure as one.
    for (const answers of this.#answers.values()) answers.inc(0);
    for (const reason of ['missing', ...REFUSAL_REASONS]) this.#refusals.inc({ reason }, 0);
    subscribe(REQUEST, this.#onRequest);
    subscribe(BATCH, this.#onBatch);
    subscribe(AUTHENTICATION_REFUSED, this.#onRefusal);
  }

  /** Counts no more. */
  close(): void {
    unsubscribe(REQUEST, this.#onRequest);
    unsubscribe(BATCH, this.#onBatch);
    unsubscribe(AUTHENTICATION_REFUSED, this.#onRefusal);
    this.registry.clear();
  }

  readonly #onRequest = (message: unknown): void => {
    const { status, error, duration } = message as RequestMessage;
    this.#answers.get(error ?? status)?.inc();
    if (duration !== undefined) this.#durations.observe(duration / 1_000);
  };

  readonly #onBatch = (message: unknown): void => {
    const { size, seconds, created, repeated, conflict } = message as BatchMessage;
    this.#batchSizes.observe(size);
    this.#commitDurations.observe(seconds);
    this.#created.inc(created);
    this.#repeated.inc(repeated);
    this.#conflicting.inc(conflict);
  };

  readonly #onRefusal = (message: unknown): void => {
    this.#refusals.inc({ reason: (message as AuthenticationRefused).reason });
  };
}
