import { subscribe } from 'node:diagnostics_channel';
import { type Aggregator, collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { REFUSAL_REASONS } from '../auth/token-verifier.js';
import { ERROR_TABLE } from '../contract/error-table.js';
import { ANSWER_CHANNEL, type AnswerEvent } from '../http/message/answer-event.js';
import { BATCH_CHANNEL, type BatchEvent } from '../storage/batch-event.js';
import { OUTCOMES } from '../storage/plant-repository.js';

/** Buckets in seconds, from the time of an answer without the store to the longest wait of a request. */
const DURATIONS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Tells the gauges their values at each scrape. */
interface GaugedService {
  /** Returns the number of plants that wait for their batch, once there is a queue. */
  queueDepth(): number | undefined;
  /** Returns when the certificate of the public port expires, if it has one. */
  certificateExpiry(): Date | undefined;
  /** Returns when the next static token expires, if one does. */
  tokenExpiry(): Date | undefined;
  /** Returns when the token file was last read in full, if there is one. */
  tokenFileRead(): Date | undefined;
}

/** Matches metrics of prom-client whose names break the rules of Prometheus, or which use undocumented members of Node. */
const LEFT_OUT = /^nodejs_active_(?:handles|requests|resources_total)/;

/** Creates the registry of a process, with the metrics of Node.js. */
function createRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const { name } of registry.getMetricsAsArray()) {
    if (LEFT_OUT.test(name)) registry.removeSingleMetric(name);
  }
  return registry;
}

/** The metrics of a process that answers requests. Each label has few values, and no client chooses them. */
export class Metrics {
  readonly registry = createRegistry();
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

  constructor(version: string, service: GaugedService) {
    new Gauge({
      name: 'plant_store_build_info',
      help: '1, with the versions of the program and of Node.js in its labels.',
      labelNames: ['version', 'node'],
      aggregator: 'first',
      registers: [this.registry],
    }).set({ version, node: process.versions.node }, 1);
    this.#addGauge('plant_store_queue_depth_plants', 'Plants that wait for their batch.', 'sum', () =>
      service.queueDepth(),
    );
    this.#addGauge('plant_store_certificate_expiry_seconds', 'Time until the certificate expires.', 'min', () =>
      secondsUntil(service.certificateExpiry()),
    );
    this.#addGauge('plant_store_token_expiry_seconds', 'Time until the next static token expires.', 'min', () =>
      secondsUntil(service.tokenExpiry()),
    );
    this.#addGauge(
      'plant_store_token_file_read_timestamp_seconds',
      'When the token file was last read in full, in seconds since 1970.',
      'min',
      () => secondsOf(service.tokenFileRead()),
    );
    // Every series starts at 0, because `increase` does not count a series that begins at 1.
    for (const status of ['200', '204']) this.#requests.inc({ status, error: '' }, 0);
    for (const error of Object.keys(ERROR_TABLE)) this.#requests.inc({ status: '400', error }, 0);
    for (const outcome of OUTCOMES) this.#plants.inc({ outcome }, 0);
    for (const reason of ['missing', ...REFUSAL_REASONS]) this.#refusals.inc({ reason }, 0);
    subscribe(ANSWER_CHANNEL, (message) => this.#countAnswer(message as AnswerEvent));
    subscribe(BATCH_CHANNEL, (message) => this.#countBatch(message as BatchEvent));
  }

  /** @param read called at each scrape; the series is missing while it returns undefined */
  #addGauge(name: string, help: string, aggregator: Aggregator, read: () => number | undefined): void {
    new Gauge({
      name,
      help,
      aggregator,
      registers: [this.registry],
      collect() {
        const value = read();
        if (value === undefined) this.remove();
        else this.set(value);
      },
    });
  }

  #countAnswer({ statusCode, error, refusal, duration }: AnswerEvent): void {
    this.#requests.inc({ status: `${statusCode}`, error: `${error ?? ''}` });
    if (refusal !== undefined) this.#refusals.inc({ reason: refusal });
    if (duration !== undefined) this.#durations.observe(duration / 1_000);
  }

  #countBatch(batch: BatchEvent): void {
    this.#batchSizes.observe(batch.size);
    this.#commitDurations.observe(batch.seconds);
    for (const outcome of OUTCOMES) this.#plants.inc({ outcome }, batch[outcome]);
  }
}

function secondsOf(instant: Date | undefined): number | undefined {
  return instant && instant.getTime() / 1_000;
}

function secondsUntil(instant: Date | undefined): number | undefined {
  return instant && (instant.getTime() - Date.now()) / 1_000;
}
