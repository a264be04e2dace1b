import cluster from 'node:cluster';
import { EventEmitter, once } from 'node:events';
import type { Configuration } from '../config/configuration.js';
import type { ProcessMetrics } from '../management/worker-metrics.js';
import { EXIT_STATUS, type ExitStatus } from './exit-status.js';

/** The messages to a worker; `stop` ends it after its requests in flight. */
export type ToWorker =
  { readonly type: 'start'; readonly configuration: Configuration } | { readonly type: 'metrics' | 'stop' };

/** The messages of a worker. */
export type FromWorker =
  | { readonly type: 'ready' }
  | { readonly type: 'listening'; readonly baseUrl: string }
  | { readonly type: 'metrics'; readonly metrics: ProcessMetrics }
  /** It cannot start or close, and ends. */
  | ({ readonly type: 'failed' } & WorkerEnd);

/** How a worker has ended; the text is for the operator. */
export interface WorkerEnd {
  readonly text: string;
  readonly status: ExitStatus;
}

/** Milliseconds that a worker has to send its metrics. */
const ANSWER_TIMEOUT = 1_000;

/** A worker, as the primary sees it. */
export class WorkerHandle {
  /** {base_url}, once it listens. */
  baseUrl: string | undefined;
  /** The metrics that it has sent last. */
  metrics: ProcessMetrics = [];
  /** Resolves when its process has ended, or could not be created. */
  readonly ended: Promise<WorkerEnd>;
  readonly #worker = cluster.fork();
  readonly #messages = new EventEmitter();
  #isReady = false;
  #failure: WorkerEnd | undefined;

  constructor(readonly configuration: Configuration) {
    this.#worker.on('message', (message: FromWorker) => this.#receive(message));
    this.ended = new Promise((resolve) => {
      this.#worker.on('exit', (code: number, signal: string | null) => resolve(this.#describeEnd(code, signal)));
      // Comes for a process that could not be created, and before the exit of one that can no longer be written to.
      this.#worker.on('error', ({ message }: Error) => {
        if (this.#worker.process.pid === undefined) resolve({ text: message, status: EXIT_STATUS.failed });
      });
    });
  }

  /** Resolves when it listens; never if it ends before. */
  async listening(): Promise<void> {
    await once(this.#messages, 'listening');
  }

  /** Asks for its metrics, and gives up when it does not answer in time. */
  async updateMetrics(): Promise<void> {
    this.#send({ type: 'metrics' });
    await once(this.#messages, 'metrics', { signal: AbortSignal.timeout(ANSWER_TIMEOUT) }).catch(() => undefined);
  }

  /** Ends it after its requests in flight. */
  stop(): void {
    if (this.#isReady) this.#send({ type: 'stop' });
    else this.kill();
  }

  kill(): void {
    this.#worker.process.kill('SIGKILL');
  }

  #describeEnd(code: number, signal: string | null): WorkerEnd {
    if (this.#failure !== undefined) return this.#failure;
    const text = `worker ${this.#worker.process.pid} ended with ${signal ?? `status ${code}`}`;
    return { text, status: code === EXIT_STATUS.done ? EXIT_STATUS.done : EXIT_STATUS.failed };
  }

  #receive(message: FromWorker): void {
    if (message.type === 'ready') {
      this.#isReady = true;
      this.#send({ type: 'start', configuration: this.configuration });
    } else if (message.type === 'listening') this.baseUrl = message.baseUrl;
    else if (message.type === 'metrics') this.metrics = message.metrics;
    else this.#failure = message;
    this.#messages.emit(message.type);
  }

  #send(message: ToWorker): void {
    // A worker that can no longer be written to has ended, or is about to.
    this.#worker.send(message, () => undefined);
  }
}
