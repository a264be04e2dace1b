import cluster from 'node:cluster';
import { Logger } from '@nestjs/common';
import { type Configuration, ConfigurationError } from '../config/configuration.js';
import { ManagedService } from '../management/managed-service.js';
import { WorkerMetrics } from '../management/worker-metrics.js';
import type { PlantRepository } from '../storage/plant-repository.js';
import { sqliteFile } from '../storage/sqlite-engine.js';
import { CommandError } from './command-error.js';
import { EXIT_STATUS } from './exit-status.js';
import { type WorkerEnd, WorkerHandle } from './worker-handle.js';

/** The service ends after this many workers in a row have ended before they listened. */
const MAX_FAILED_STARTS = 3;

/** Serves the public port with workers, each of which is a whole service. One that ends is replaced at once. */
export class Supervisor extends ManagedService {
  readonly #logger = new Logger('PlantStore');
  readonly #metrics = new WorkerMetrics();
  readonly #workers = new Set<WorkerHandle>();
  #docsOrigins: readonly string[] = [];
  #isReplacing = false;
  #failedStarts = 0;

  /**
   * @param stop called when a worker cannot be replaced
   * @throws {ConfigurationError} if workers cannot serve this configuration
   */
  constructor(
    private readonly configuration: Configuration,
    repository: PlantRepository,
    private readonly stop: () => void,
  ) {
    super(repository);
    if (!cluster.isPrimary) {
      throw new ConfigurationError(
        'WORKERS must be 1 in a process that belongs to another cluster, for example of PM2',
      );
    }
    if (sqliteFile(configuration.databaseUrl) === ':memory:') {
      throw new ConfigurationError('WORKERS must be 1 with a database in memory, which processes cannot share');
    }
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
   * Starts the workers, and replaces them from then on.
   *
   * @param docsOrigins the origins of the docs page, which creates plants
   * @returns {base_url}, when all of them listen
   * @throws {CommandError} if one of them ends before
   */
  async listen(docsOrigins: readonly string[]): Promise<string> {
    this.#docsOrigins = docsOrigins;
    const workers = Array.from({ length: this.configuration.workers }, () => this.#start());
    const allListen = Promise.all(workers.map((worker) => worker.listening())).then(() => undefined);
    const end = await Promise.race([allListen, ...workers.map(({ ended }) => ended)]);
    if (end !== undefined) throw new CommandError(end.text, end.status || EXIT_STATUS.failed);
    this.#isReplacing = true;
    return this.baseUrl ?? '';
  }

  override get obstacle(): string | undefined {
    return super.obstacle ?? (this.#listening.length === 0 ? 'no worker listens' : undefined);
  }

  override async metrics(): Promise<string> {
    await Promise.all(this.#listening.map((worker) => worker.updateMetrics()));
    return this.#metrics.join([...this.#workers].map(({ metrics }) => metrics));
  }

  /** @throws if a worker could not close in order */
  async close(): Promise<void> {
    this.#isReplacing = false;
    const workers = [...this.#workers];
    for (const worker of workers) worker.stop();
    const ends = await Promise.all(workers.map(({ ended }) => ended));
    await this.repository.close();
    const failed = ends.find(
      ({ status }, index) => workers[index]?.baseUrl === this.baseUrl && status !== EXIT_STATUS.done,
    );
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
    void worker.listening().then(() => this.#onListening(worker));
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

  #onEnd(worker: WorkerHandle, { text }: WorkerEnd): void {
    this.#workers.delete(worker);
    this.#metrics.keep(worker.metrics);
    if (!this.#isReplacing) return;
    if (worker.baseUrl === undefined) {
      this.#failedStarts += 1;
      this.#logger.error(`A worker could not start: ${text}`);
    } else {
      this.#logger.error(`A worker has ended, and another one starts: ${text}`);
    }
    if (this.#failedStarts < MAX_FAILED_STARTS) {
      this.#start();
      return;
    }
    this.#logger.fatal(`The service ends, because its workers cannot start: ${text}`);
    process.exitCode = EXIT_STATUS.failed;
    this.stop();
  }
}
