import cluster from 'node:cluster';
import { Logger } from '@nestjs/common';
import { type Configuration, ConfigurationError } from '../config/configuration.js';
import type { WorkerMetrics } from '../management/worker-metrics.js';
import { sqliteFile } from '../storage/sqlite-engine.js';
import { CommandError } from './command-error.js';
import { EXIT_STATUS } from './exit-status.js';
import type { PublicService } from './public-service.js';
import { reloadTokens, type ServiceParts } from './service-parts.js';
import { watchCertificate } from './start-files.js';
import { type WorkerEnd, WorkerHandle } from './worker-handle.js';

/** The service ends after this many workers in a row have ended before they listened. */
const MAX_FAILED_STARTS = 3;

/** Serves the public port with workers, each of which is a whole service. One that ends is replaced at once. */
export class Supervisor implements PublicService {
  readonly #logger = new Logger('PlantStore');
  #metrics: WorkerMetrics | undefined;
  readonly #workers = new Set<WorkerHandle>();
  /** {base_url}, once a worker listens. */
  #baseUrl: string | undefined;
  #isReplacing = false;
  #failedStarts = 0;

  /**
   * @param fail called with the reason when a worker cannot be replaced
   * @throws {ConfigurationError} if workers cannot serve this configuration
   */
  constructor(
    private readonly configuration: Configuration,
    private readonly parts: ServiceParts,
    private readonly fail: (reason: string) => void,
  ) {
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
  }

  /**
   * Starts the workers, and replaces them from then on.
   *
   * @returns {base_url}, when all of them listen
   * @throws {CommandError} if one of them ends before
   */
  async listen(): Promise<string> {
    if (this.configuration.managementPort !== 'off') {
      const { WorkerMetrics } = await import('../management/worker-metrics.js');
      this.#metrics = new WorkerMetrics();
    }
    const workers = Array.from({ length: this.configuration.workers }, () => this.#start());
    const allListen = Promise.all(workers.map((worker) => worker.listening())).then(() => undefined);
    const end = await Promise.race([allListen, ...workers.map(({ ended }) => ended)]);
    if (end !== undefined) throw new CommandError(end.text, end.status || EXIT_STATUS.failed);
    this.#isReplacing = true;
    // Only for the log: each worker watches the files itself.
    watchCertificate(this.parts, this.configuration);
    return this.#baseUrl ?? '';
  }

  get obstacle(): string | undefined {
    return this.#listening.length === 0 ? 'no worker listens' : undefined;
  }

  async reloadTokens(): Promise<void> {
    await Promise.all([reloadTokens(this.parts), ...this.#listening.map((worker) => worker.ask('reload'))]);
  }

  async metrics(): Promise<string> {
    await Promise.all(this.#listening.map((worker) => worker.ask('metrics')));
    return (await this.#metrics?.join([...this.#workers].map(({ metrics }) => metrics))) ?? '';
  }

  /** @throws if a worker could not close in order */
  async close(): Promise<void> {
    this.#isReplacing = false;
    const workers = [...this.#workers];
    for (const worker of workers) worker.stop();
    const ends = await Promise.all(workers.map(({ ended }) => ended));
    await this.parts.repository.close();
    const failed = ends.find(
      ({ status }, index) => workers[index]?.baseUrl !== undefined && status !== EXIT_STATUS.done,
    );
    if (failed !== undefined) throw new Error(`a worker could not close: ${failed.text}`);
  }

  abort(): void {
    this.#isReplacing = false;
    for (const worker of this.#workers) worker.kill();
  }

  get #listening(): WorkerHandle[] {
    return [...this.#workers].filter(({ baseUrl }) => baseUrl !== undefined && baseUrl === this.#baseUrl);
  }

  #start(): WorkerHandle {
    const { workers, maxConnections } = this.configuration;
    const worker = new WorkerHandle({
      ...this.configuration,
      port: this.#choosePort(),
      maxConnections: Math.ceil(maxConnections / workers),
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
    return this.configuration.port || (this.#baseUrl === undefined ? 0 : Number(new URL(this.#baseUrl).port));
  }

  #onListening(worker: WorkerHandle): void {
    this.#baseUrl ??= worker.baseUrl;
    this.#failedStarts = 0;
    // With PORT=0, the last of the others has ended meanwhile, and the system has chosen another port.
    if (worker.baseUrl !== this.#baseUrl) worker.kill();
  }

  #onEnd(worker: WorkerHandle, { text }: WorkerEnd): void {
    this.#workers.delete(worker);
    this.#metrics?.keep(worker.metrics);
    if (!this.#isReplacing) return;
    if (worker.baseUrl === undefined) {
      this.#failedStarts += 1;
      this.#logger.error(`A worker could not start: ${text}`);
    } else {
      this.#logger.error(`A worker has ended, and another one starts: ${text}`);
    }
    if (this.#failedStarts < MAX_FAILED_STARTS) this.#start();
    else this.fail(text);
  }
}
