import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { REFUSAL_REASONS } from '../auth/token-verifier.js';
import { ERROR_TABLE } from '../contract/error-table.js';
import { REQUEST_CHANNEL, type RequestMessage } from '../http/request-channel.js';
import { BATCH_CHANNEL, type BatchMessage } from '../storage/group-commit.js';
import { type Outcome, OUTCOMES } from '../storage/plant-repository.js';

/** Buckets in seconds: from an answer without the store to the longest wait of a request. */
const DURATIONS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The version in `plant_store_build_info`; the class is also the injection token. */
export abstract class BuildInfo {
  abstract readonly version: string;
}

/** The plants that wait for their batch; the class is also the injection token. */
export abstract class PlantQueue {
  /** Number of plants. */
  abstract readonly depth: number;
}

/** Metrics of prom-client that are named against the rules of Prometheus, or based on undocumented members of Node. */
const LEFT_OUT = [
  'nodejs_active_handles',
  'nodejs_active_handles_total',
  'nodejs_active_requests',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

/** Counts for Prometheus what the service publishes. Each label has few values, and no client chooses them. */
@Injectable()
export class Metrics implements OnApplicationShutdown {
  /** A registry of its own, so that tests can run several services in one process. */
  readonly registry = new Registry();

  readonly #requests = new Counter({
    name: 'plant_store_http_requests_total',
    help: 'Answers of the public port, by status and error number; a success has no error number.',
    labelNames: ['status', 'error'],
    registers: [this.registry],
  });
  readonly #durations = new Histogram({
    name: 'plant_store_http_request_duration_seconds',
    help: 'Time from the end of the headers to the answer.',
    buckets: DURATIONS,
    registers: [this.registry],
  });
  readonly #plants = new Counter({
    name: 'plant_store_plants_total',
    help: 'Plants by outcome: created, repeated (stored already) or conflict (refused with error 409).',
    labelNames: ['outcome'],
    registers: [this.registry],
  });
  readonly #batchSizes = new Histogram({
    name: 'plant_store_batch_size_plants',
    help: 'Plants that shared a commit.',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024],
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

  /** The counters of answers by error number or, for a success, by status: a look-up by labels takes longer. */
  readonly #answers = new Map<number, Counter.Internal>();

  /** The counters of plants by outcome. */
  readonly #outcomes = new Map<Outcome, Counter.Internal>();

  constructor(queue: PlantQueue, { version }: BuildInfo) {
    new Gauge({
      name: 'plant_store_build_info',
      help: '1, with the versions of the program and of Node.js in its labels.',
      labelNames: ['version', 'node'],
      aggregator: 'first',
      registers: [this.registry],
    }).set({ version, node: process.versions.node }, 1);
    this.addGauge('plant_store_queue_depth_plants', 'Plants that wait for their batch.', () => queue.depth);
    collectDefaultMetrics({ register: this.registry });
    for (const name of LEFT_OUT) this.registry.removeSingleMetric(name);
    // Every series starts at 0, because `increase` does not count a series that begins at 1.
    for (const status of [200, 204]) this.#answers.set(status, this.#requests.labels(`${status}`, ''));
    for (const error of Object.keys(ERROR_TABLE)) this.#answers.set(Number(error), this.#requests.labels('400', error));
    for (const answers of this.#answers.values()) answers.inc(0);
    for (const outcome of OUTCOMES) this.#outcomes.set(outcome, this.#plants.labels(outcome));
    for (const plants of this.#outcomes.values()) plants.inc(0);
    for (const reason of ['missing', ...REFUSAL_REASONS]) this.#refusals.inc({ reason }, 0);
    subscribe(REQUEST_CHANNEL, this.#onRequest);
    subscribe(BATCH_CHANNEL, this.#onBatch);
  }

  /** Counts no batches from now on: the primary of several workers counts theirs. */
  leaveBatchesToPrimary(): void {
    unsubscribe(BATCH_CHANNEL, this.#onBatch);
  }

  onApplicationShutdown(): void {
    unsubscribe(REQUEST_CHANNEL, this.#onRequest);
    unsubscribe(BATCH_CHANNEL, this.#onBatch);
    this.registry.clear();
  }

  /** @param read called at each scrape; the series is missing while it returns undefined */
  addGauge(name: string, help: string, read: () => number | undefined): void {
    new Gauge({
      name,
      help,
      registers: [this.registry],
      collect() {
        const value = read();
        if (value === undefined) this.remove();
        else this.set(value);
      },
    });
  }

  readonly #onRequest = (message: unknown): void => {
    const { status, error, refusal, duration } = message as RequestMessage;
    this.#answers.get(error ?? status)?.inc();
    if (refusal !== undefined) this.#refusals.inc({ reason: refusal });
    if (duration !== undefined) this.#durations.observe(duration / 1_000);
  };

  readonly #onBatch = (message: unknown): void => {
    const batch = message as BatchMessage;
    this.#batchSizes.observe(batch.size);
    this.#commitDurations.observe(batch.seconds);
    for (const [outcome, plants] of this.#outcomes) plants.inc(batch[outcome]);
  };
}
