import cluster, { type Worker } from 'node:cluster';
import { setTimeout } from 'node:timers/promises';
import type { StaticToken } from '../auth/static-tokens.js';
import type { Configuration } from '../config/configuration.js';
import type { Certificate } from '../http/certificate.js';
import type { ProcessMetrics } from '../management/worker-metrics.js';
import type { StoredPlant } from '../storage/plant-repository.js';
import { type BatchResult, resultOf } from '../storage/remote-repository.js';
import type { SharedCommit } from '../storage/shared-commit.js';
import { EXIT_STATUS, type ExitStatus } from './exit-status.js';

/** Settings that the primary reads and its workers use; they may change while the workers run. */
export interface SharedState {
  readonly tokens: readonly StaticToken[];
  readonly certificate: Certificate | undefined;
  /** The origins whose pages may create plants. */
  readonly origins: readonly string[];
}

/** A URL cannot be copied to another process: a worker gets its text. */
export type WorkerConfiguration = Omit<Configuration, 'jwtJwksUrl'> & { readonly jwtJwksUrl: string | undefined };

/** The first message to a worker. */
export interface WorkerStart {
  readonly type: 'start';
  readonly configuration: WorkerConfiguration;
  readonly state: SharedState;
}

export type ToWorker =
  | WorkerStart
  | { readonly type: 'state'; readonly state: SharedState }
  /** The result of the batch that the worker has sent. */
  | { readonly type: 'result'; readonly result: BatchResult }
  /** Asks for the metrics. */
  | { readonly type: 'metrics' }
  /** Ends the worker after its requests in flight; one that has not started yet, instead of its start. */
  | { readonly type: 'stop' };

export type FromWorker =
  /** The worker can receive its first message. */
  | { readonly type: 'ready' }
  /** The worker listens, and can receive all messages. */
  | { readonly type: 'listening'; readonly baseUrl: string }
  /** The worker cannot start, and ends; the text is for the operator. */
  | { readonly type: 'failed'; readonly text: string; readonly status: ExitStatus }
  | { readonly type: 'batch'; readonly plants: readonly StoredPlant[] }
  | { readonly type: 'metrics'; readonly metrics: ProcessMetrics };

/** Milliseconds that a worker has to send its metrics; one that is busy for longer counts with its last ones. */
const METRICS_TIMEOUT = 1_000;

/** Milliseconds that a worker has to write its last log lines before it is killed. */
const END_TIMEOUT = 1_000;

/** How a worker has ended; the text is for the operator. */
export interface WorkerEnd {
  readonly text: string;
  readonly status: ExitStatus;
}

/** A worker, as the primary sees it. */
export class WorkerProcess {
  /** Unique, also among the workers that have ended. */
  readonly id: number;
  /** Resolves with {base_url} when it listens; never if it ends before. */
  readonly listening: Promise<string>;
  /** Resolves when its process has ended. */
  readonly ended: Promise<WorkerEnd>;
  readonly #worker: Worker;
  #isReady = false;
  #isStopping = false;
  #hasListened = false;
  #metrics: ProcessMetrics = [];
  /** Resolves with the next metrics; undefined unless they were asked for. */
  #nextMetrics: Promise<void> | undefined;
  #onMetrics: () => void = () => undefined;
  #failure: WorkerEnd | undefined;

  /**
   * @param start what it begins with
   * @param store takes its batches; undefined if it opens the store itself
   */
  constructor(start: Omit<WorkerStart, 'type'>, store: SharedCommit | undefined) {
    this.#worker = cluster.fork();
    this.id = this.#worker.id;
    this.listening = new Promise((resolve) => {
      this.#worker.on('message', (message: FromWorker) => {
        if (message.type === 'batch') void this.#add(message.plants, store);
        else if (message.type === 'ready') this.#begin(start);
        else if (message.type === 'metrics') this.#receiveMetrics(message.metrics);
        else if (message.type === 'failed') this.#failure = message;
        else {
          this.#hasListened = true;
          resolve(message.baseUrl);
        }
      });
    });
    this.ended = new Promise((resolve) => {
      // Comes for a process that could not be created, and before the exit of one that can no longer be written to.
      this.#worker.on('error', ({ message }: Error) => {
        if (this.#worker.process.pid === undefined) resolve({ text: message, status: EXIT_STATUS.failed });
      });
      this.#worker.on('exit', (status: number, signal: string | null) => {
        const text = `worker ${this.#worker.process.pid} ended with ${signal ?? `status ${status}`}`;
        resolve(this.#failure ?? { text, status: status === EXIT_STATUS.done ? EXIT_STATUS.done : EXIT_STATUS.failed });
      });
    });
    // Each race with `ended` would leave a reaction in memory until the worker ends.
    void this.ended.then(() => this.#onMetrics());
  }

  /** True from the time when it listens. */
  get hasListened(): boolean {
    return this.#hasListened;
  }

  send(message: ToWorker): void {
    // A worker that can no longer be written to has ended, or is about to.
    this.#worker.send(message, () => undefined);
  }

  /** Ends the worker after its requests in flight. */
  stop(): void {
    this.#isStopping = true;
    if (this.#isReady) this.send({ type: 'stop' });
  }

  /** Ends the worker without answers to its requests in flight, also one that no longer reacts. */
  async abort(): Promise<void> {
    // A worker ends when the primary has gone.
    if (this.#worker.isConnected()) this.#worker.process.disconnect();
    const waiting = new AbortController();
    const timeout = setTimeout(END_TIMEOUT, undefined, { signal: waiting.signal }).catch(() => undefined);
    await Promise.race([this.ended, timeout]);
    waiting.abort();
    this.#worker.process.kill('SIGKILL');
  }

  /** Asks for the metrics. */
  async metrics(): Promise<ProcessMetrics> {
    if (this.#nextMetrics === undefined) {
      this.#nextMetrics = new Promise((resolve) => (this.#onMetrics = resolve));
      this.send({ type: 'metrics' });
    }
    const waiting = new AbortController();
    const timeout = setTimeout(METRICS_TIMEOUT, undefined, { signal: waiting.signal }).catch(() => undefined);
    await Promise.race([this.#nextMetrics, timeout]);
    waiting.abort();
    return this.#metrics;
  }

  #begin(start: Omit<WorkerStart, 'type'>): void {
    this.#isReady = true;
    this.send(this.#isStopping ? { type: 'stop' } : { type: 'start', ...start });
  }

  #receiveMetrics(metrics: ProcessMetrics): void {
    this.#metrics = metrics;
    this.#nextMetrics = undefined;
    this.#onMetrics();
  }

  async #add(plants: readonly StoredPlant[], store: SharedCommit | undefined): Promise<void> {
    if (store !== undefined) this.send({ type: 'result', result: await resultOf(store.add(plants)) });
  }
}
