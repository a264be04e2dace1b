import { subscribe } from 'node:diagnostics_channel';
import { Injectable } from '@nestjs/common';
import { collectDefaultMetrics, Counter, Gauge, Histogram } from 'prom-client';
import { REFUSAL_REASONS } from '../auth/token-verifier.js';
import { ERROR_TABLE } from '../contract/error-table.js';
import { ANSWER_CHANNEL, type AnswerEvent } from '../http/answer-event.js';
import { DROP_CHANNEL } from '../http/public-server.js';
import { BATCH_CHANNEL, type BatchEvent } from '../storage/group-commit.js';
import { OUTCOMES } from '../storage/plant-repository.js';
import { ManagedService } from './managed-service.js';

/** Buckets in seconds, from the time of an answer without the store to the longest wait of a request. */
const DURATIONS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The metrics of a service. Each label has few values, and no client chooses them. */
@Injectable()
export class Metrics {
  readonly #requests = new Counter({
    name: 'plant_store_http_requests_total',
    help: 'Answers of the public port, by status and error number; a success has no error number.',
    labelNames: ['status', 'error'],
  });
  readonly #durations = new Histogram({
    name: 'plant_store_http_request_duration_seconds',
    help: 'Time from the end of the headers to the answer.',
    buckets: DURATIONS,
  });
  readonly #plants = new Counter({
    name: 'plant_store_plants_total',
    help: 'Plants by outcome: created, repeated (stored already) or conflict (refused with error 409).',
    labelNames: ['outcome'],
  });
  readonly #batchSizes = new Histogram({
    name: 'plant_store_batch_size_plants',
    help: 'Plants that shared a commit.',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024],
  });
  readonly #commitDurations = new Histogram({
    name: 'plant_store_commit_duration_seconds',
    help: 'Time for a batch to be durable.',
    buckets: DURATIONS,
  });
  readonly #refusals = new Counter({
    name: 'plant_store_authentication_failures_total',
    help: 'Requests refused for their token, by reason.',
    labelNames: ['reason'],
  });
  readonly #drops = new Counter({
    name: 'plant_store_connections_dropped_total',
    help: 'New connections closed because MAX_CONNECTIONS were open.',
  });

  constructor(service: ManagedService) {
    collectDefaultMetrics();
    new Gauge({
      name: 'plant_store_build_info',
      help: '1, with the versions of the program and of Node.js in its labels.',
      labelNames: ['version', 'node'],
    }).set({ version: service.version, node: process.versions.node }, 1);
    addGauge('plant_store_ready', '1 if the service takes plants, or 0.', () =>
      service.assertReady().then(
        () => 1,
        () => 0,
      ),
    );
    addGauge('plant_store_queue_depth_plants', 'Plants that wait for their batch.', () => service.groupCommit.depth);
    addGauge('plant_store_certificate_expiry_seconds', 'Time until the certificate expires.', () =>
      secondsUntil(service.certificate?.expires),
    );
    addGauge('plant_store_token_expiry_seconds', 'Time until the next static token expires.', () =>
      secondsUntil(service.tokens.nextExpiry()),
    );
    // Every series starts at 0, because `increase` does not count a series that begins at 1.
    for (const status of ['200', '204']) this.#requests.inc({ status, error: '' }, 0);
    for (const error of Object.keys(ERROR_TABLE)) this.#requests.inc({ status: '400', error }, 0);
    for (const outcome of OUTCOMES) this.#plants.inc({ outcome }, 0);
    for (const reason of REFUSAL_REASONS) this.#refusals.inc({ reason }, 0);
    subscribe(ANSWER_CHANNEL, (message) => this.#countAnswer(message as AnswerEvent));
    subscribe(DROP_CHANNEL, () => this.#drops.inc());
    subscribe(BATCH_CHANNEL, (message) => this.#countBatch(message as BatchEvent));
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

/** @param read called at each scrape; the series is missing while it returns undefined */
function addGauge(name: string, help: string, read: () => number | undefined | Promise<number>): void {
  new Gauge({
    name,
    help,
    async collect() {
      const value = await read();
      if (value === undefined) this.remove();
      else this.set(value);
    },
  });
}

function secondsUntil(instant: Date | undefined): number | undefined {
  return instant && (instant.getTime() - Date.now()) / 1_000;
}
