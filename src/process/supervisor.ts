import cluster from 'node:cluster';
import { EventEmitter, once } from 'node:events';
import { Logger } from '@nestjs/common';
import type { Configuration } from '../config/configuration.js';
import { EXIT_STATUS, OperatorError } from '../contract/operator-error.js';
import { ManagedService } from '../management/managed-service.js';
import { type ProcessMetrics, WorkerMetrics } from '../management/worker-metrics.js';
import type { PlantRepository } from '../storage/plant-repository.js';
import { type ProcessEnd } from './describe-error.js';
import type { FromWorker, ToWorker } from './worker.js';

/** The service ends after this many workers in a row have ended before they listened. */
const MAX_FAILED_STARTS = 3;

/** Milliseconds that a worker has to answer. */
const ANSWER_TIMEOUT = 1_000;

/** Serves the public port with workers, each of which is a whole service. One that ends is replaced at once. */
export class Supervisor extends ManagedService {
  readonly #logger = new Logger('PlantStore');
  readonly #metrics = new WorkerMetrics();
  readonly #workers = new Set<WorkerHandle>();
  #docsOrigins: readonly string[] = [];
  #isReplacing = false;
  #failedStarts = 0;

  /** @param stop called when a worker cannot be replaced, which is only after `listen` */
  constructor(
    private readonly configuration: Configuration,
    repository: PlantRepository,
    private readonly stop: () => void,
  ) {
    super(repository);
    // The system gives a connection to an idle worker. With round robin, this process would accept them, and one that it
    // hands to a worker that ends would stay open without an answer.
    cluster.schedulingPolicy = cluster.SCHED_NONE;
    cluster.setupPrimary({ args: ['worker'], serialization: 'advanced' });
    // Workers end with this process, except those that no longer react.
    process.once('exit', () => {
      for (const worker of this.#workers) worker.kill();
    });
  }

  /**
   * Starts the workers, and replaces them once all of them listen.
   *
   * @throws {OperatorError} if one of them ends before
   */
  async listen(docsOrigins: readonly string[]): Promise<string> {
    this.#docsOrigins = docsOrigins;
    const workers = Array.from({ length: this.configuration.workers }, () => this.#start());
    const allListen = Promise.all(workers.map((worker) => once(worker, 'listening'))).then(() => undefined);
    const end = await Promise.race([allListen, ...workers.map(({ ended }) => ended)]);
    if (end !== undefined) throw new OperatorError(end.text, { status: end.status || EXIT_STATUS.failed });
    this.#isReplacing = true;
    return this.baseUrl ?? '';
  }

  /** Lets the workers read their token file and certificate now. */
  async reload(): Promise<void> {
    await Promise.all(this.#listening.map((worker) => worker.ask('reload')));
  }

  override get obstacle(): string | undefined {
    return super.obstacle ?? (this.#listening.length === 0 ? 'no worker listens' : undefined);
  }

  override async metrics(): Promise<string> {
    await Promise.all(this.#listening.map((worker) => worker.ask('metrics')));
    return this.#metrics.join([...this.#workers].map(({ metrics }) => metrics));
  }

  /** @throws if a worker that listened could not close in order */
  async close(): Promise<void> {
    this.#isReplacing = false;
    const listening = this.#listening;
    for (const worker of this.#workers) worker.stop();
    await Promise.all([...this.#workers].map(({ ended }) => ended));
    await this.repository.close();
    const ends = await Promise.all(listening.map(({ ended }) => ended));
    const failed = ends.find(({ status }) => status !== EXIT_STATUS.done);
    if (failed !== undefined) throw new Error(`a worker could not close: ${failed.text}`);
  }

  get #listening(): WorkerHandle[] {
    return [...this.#workers].filter(({ baseUrl }) => baseUrl !== undefined && baseUrl === this.baseUrl);
  }

  #start(): WorkerHandle {
    const { workers, maxConnections, corsOrigins } = this.configuration;
    const worker = new WorkerHandle({
      ...this.configuration,
      port: this.#choosePort(),
      maxConnections: Math.ceil(maxConnections / workers),
      corsOrigins: [...corsOrigins, ...this.#docsOrigins],
    });
    this.#workers.add(worker);
    worker.once('listening', () => this.#onListening(worker));
    void worker.ended.then((end) => this.#onEnd(worker, end));
    return worker;
  }

  /** With PORT=0, Node.js gives all workers the same port as long as one of them has it. */
  #choosePort(): number {
    const [other] = this.#listening;
    if (other !== undefined) return other.configuration.port;
    return this.configuration.port || (this.baseUrl === undefined ? 0 : Number(new URL(this.baseUrl).port));
  }

  #onListening(worker: WorkerHandle): void {
    this.baseUrl ??= worker.baseUrl;
    this.#failedStarts = 0;
    // With PORT=0, the last of the others has ended meanwhile, and the system has chosen another port.
    if (worker.baseUrl !== this.baseUrl) worker.kill();
  }

  #onEnd(worker: WorkerHandle, { text }: ProcessEnd): void {
    this.#workers.delete(worker);
    this.#metrics.keep(worker.metrics);
    if (!this.#isReplacing) return;
    if (worker.baseUrl === undefined) this.#failedStarts += 1;
    if (this.#failedStarts < MAX_FAILED_STARTS) {
      this.#logger.error(`A worker has ended, and another one starts: ${text}`);
      this.#start();
      return;
    }
    this.#logger.fatal(`The service ends, because its workers cannot start: ${text}`);
    process.exitCode = EXIT_STATUS.failed;
    this.stop();
  }
}

/** A worker, as the primary sees it. It emits the types of its messages. */
class WorkerHandle extends EventEmitter {
  /** {base_url}, once it listens. */
  baseUrl: string | undefined;
  /** The metrics that it has sent last. */
  metrics: ProcessMetrics = [];
  /** Resolves when its process has ended, or could not be created. */
  readonly ended: Promise<ProcessEnd>;
  readonly #worker = cluster.fork();
  #isReady = false;
  #failure: ProcessEnd | undefined;

  constructor(readonly configuration: Configuration) {
    super();
    // Any number of callers may wait for a worker that hangs.
    this.setMaxListeners(0);
    const { process } = this.#worker;
    this.#worker.on('message', (message: FromWorker) => this.#receive(message));
    this.ended = new Promise((resolve) => {
      this.#worker.on('exit', (code: number, signal: string | null) => {
        const text = `worker ${process.pid} ended with ${signal ?? `status ${code}`}`;
        resolve(this.#failure ?? { text, status: code === EXIT_STATUS.done ? EXIT_STATUS.done : EXIT_STATUS.failed });
      });
      // Comes for a process that could not be created, and before the exit of one that can no longer be written to.
      this.#worker.on('error', ({ message }: Error) => {
        if (process.pid === undefined) resolve({ text: message, status: EXIT_STATUS.failed });
      });
    });
  }

  /** Sends it a message, and waits for its answer, but not for long. */
  async ask(type: 'metrics' | 'reload'): Promise<void> {
    this.#send({ type });
    await once(this, type, { signal: AbortSignal.timeout(ANSWER_TIMEOUT) }).catch(() => undefined);
  }

  /** Ends it after its requests in flight. */
  stop(): void {
    if (this.#isReady) this.#send({ type: 'stop' });
    else this.kill();
  }

  kill(): void {
    this.#worker.process.kill('SIGKILL');
  }

  #receive(message: FromWorker): void {
    if (message.type === 'ready') {
      this.#isReady = true;
      this.#send({ type: 'start', configuration: this.configuration });
    } else if (message.type === 'listening') this.baseUrl = message.baseUrl;
    else if (message.type === 'metrics') this.metrics = message.metrics;
    else if (message.type === 'failed') this.#failure = message;
    this.emit(message.type);
  }

  #send(message: ToWorker): void {
    // A worker that can no longer be written to has ended, or is about to.
    this.#worker.send(message, () => undefined);
  }
}
