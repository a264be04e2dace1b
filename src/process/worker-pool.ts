import cluster from 'node:cluster';
import { Logger } from '@nestjs/common';
import type { StaticTokens } from '../auth/static-tokens.js';
import { type Configuration, ConfigurationError } from '../config/configuration.js';
import type { Certificate } from '../http/certificate.js';
import type { StructuredLogger } from '../logging/structured-logger.js';
import type { ProcessMetrics, Workers } from '../management/worker-metrics.js';
import { sqliteFile } from '../storage/sqlite-engine.js';
import { SharedCommit } from '../storage/shared-commit.js';
import { CommandError } from './command-error.js';
import { EXIT_STATUS } from './exit-status.js';
import { openConfiguredStore, type PublicService } from './public-service.js';
import { type SharedState, type WorkerConfiguration, type WorkerEnd, WorkerProcess } from './worker-process.js';

/** The service ends after this many workers in a row have ended before they listened. */
const MAX_FAILED_STARTS = 3;

/**
 * Serves the public port with workers, to which this process gives what may change while they run.
 *
 * @throws {ConfigurationError} if this process is a worker of another cluster
 */
export async function createServiceWithWorkers(
  configuration: Configuration,
  tokens: StaticTokens,
  certificate: Certificate | undefined,
  logger: StructuredLogger,
): Promise<PublicService> {
  if (!cluster.isPrimary) {
    throw new ConfigurationError('WORKERS must be 1 in a process that belongs to another cluster, for example of PM2');
  }
  Logger.overrideLogger(logger);
  // The workers have the other connections to a database server. This one is for health checks.
  const repository = await openConfiguredStore(configuration, logger);
  const queue = new SharedCommit(repository);
  const isOwner = sqliteFile(configuration.databaseUrl) !== undefined;
  const pool = new WorkerPool(configuration, isOwner ? queue : undefined, {
    tokens: [],
    certificate,
    origins: configuration.corsOrigins,
  });
  tokens.follow((changed) => pool.share({ tokens: changed }));
  return {
    repository,
    queue,
    workers: pool,
    failure: pool.failure,
    listen: () => pool.listen(),
    allowOrigins: (added) => pool.share({ origins: [...configuration.corsOrigins, ...added] }),
    get certificate() {
      return pool.certificate;
    },
    setCertificate: (changed) => pool.share({ certificate: changed }),
    close: () => pool.close().finally(() => repository.close()),
    abort: () => pool.abort(),
  };
}

/** The processes that serve the public port. One that ends is replaced at once. */
export class WorkerPool implements Workers {
  readonly #logger = new Logger('PlantStore');
  readonly #processes = new Set<WorkerProcess>();
  readonly #listening = new Set<WorkerProcess>();
  /** Workers that listen on another port, and are being stopped. */
  readonly #misplaced = new Set<WorkerProcess>();
  /** {base_url}, once a worker listens. */
  #baseUrl: string | undefined;
  /** The port for the next worker; with PORT=0 it stays 0 while a worker listens, because Node gives all the same port. */
  #port: number;
  #isReplacing = false;
  #failedStarts = 0;
  #fail: (reason: string) => void = () => undefined;
  /** Resolves with the reason when no worker can be replaced. */
  readonly failure = new Promise<string>((resolve) => (this.#fail = resolve));

  /**
   * @param store takes the batches of the workers; undefined if each of them opens the store itself
   * @param state what the workers begin with
   */
  constructor(
    private readonly configuration: Configuration,
    private readonly store: SharedCommit | undefined,
    private state: SharedState,
  ) {
    this.#port = configuration.port;
    // The system gives a connection to an idle worker. With round robin, this process would accept them: they would wait
    // for its commits, and one that it hands to a worker that ends would stay open without an answer.
    cluster.schedulingPolicy = cluster.SCHED_NONE;
    cluster.setupPrimary({ args: ['worker'], serialization: 'advanced' });
  }

  /** True while a worker listens. */
  get isListening(): boolean {
    return this.#listening.size > 0;
  }

  /** The certificate that the workers use. */
  get certificate(): Certificate | undefined {
    return this.state.certificate;
  }

  /**
   * Starts the workers, and replaces them from then on.
   *
   * @returns {base_url}, when all of them listen
   * @throws {CommandError} if one of them ends before
   */
  async listen(): Promise<string> {
    const workers = Array.from({ length: this.configuration.workers }, () => this.#start());
    const anEnd = Promise.race(workers.map(({ ended }) => ended)).then(({ text, status }) => {
      throw new CommandError(text, status === EXIT_STATUS.done ? EXIT_STATUS.failed : status);
    });
    const [baseUrl = ''] = await Promise.race([Promise.all(workers.map(({ listening }) => listening)), anEnd]);
    this.#isReplacing = true;
    anEnd.catch(() => undefined);
    return baseUrl;
  }

  /** Gives the workers what has changed. */
  share(change: Partial<SharedState>): void {
    this.state = { ...this.state, ...change };
    for (const worker of this.#listening) worker.send({ type: 'state', state: this.state });
  }

  async metrics(): Promise<ReadonlyMap<number, ProcessMetrics>> {
    const workers = [...this.#listening];
    const metrics = await Promise.all(workers.map((worker) => worker.metrics()));
    return new Map(workers.map(({ id }, index) => [id, metrics[index] ?? []]));
  }

  /**
   * Ends the workers after their requests in flight.
   *
   * @throws if one of them could not close in order
   */
  async close(): Promise<void> {
    this.#isReplacing = false;
    const workers = [...this.#processes];
    for (const worker of workers) worker.stop();
    const ends = await Promise.all(workers.map(({ ended }) => ended));
    const failed = ends.find(({ status }, index) => workers[index]?.hasListened && status !== EXIT_STATUS.done);
    if (failed !== undefined) throw new Error(`a worker could not close: ${failed.text}`);
  }

  /** Ends the workers without answers to their requests in flight. */
  async abort(): Promise<void> {
    this.#isReplacing = false;
    await Promise.all([...this.#processes].map((worker) => worker.abort()));
  }

  #start(): WorkerProcess {
    const worker = new WorkerProcess({ configuration: this.#configurationOfWorker(), state: this.state }, this.store);
    this.#processes.add(worker);
    void worker.listening.then((baseUrl) => this.#onListening(worker, baseUrl));
    void worker.ended.then((end) => this.#onEnd(worker, end));
    return worker;
  }

  /** The workers divide the connections among themselves. */
  #configurationOfWorker(): WorkerConfiguration {
    const { workers, maxConnections, jwtJwksUrl } = this.configuration;
    return {
      ...this.configuration,
      jwtJwksUrl: jwtJwksUrl?.href,
      port: this.#port,
      maxConnections: Math.ceil(maxConnections / workers),
    };
  }

  #onListening(worker: WorkerProcess, baseUrl: string): void {
    this.#baseUrl ??= baseUrl;
    if (baseUrl === this.#baseUrl) {
      this.#listening.add(worker);
      this.#failedStarts = 0;
      // It may have changed during the start.
      worker.send({ type: 'state', state: this.state });
    } else {
      // The port that the system had chosen was closed with the last worker, and this one has got another.
      this.#misplaced.add(worker);
      worker.stop();
    }
  }

  #onEnd(worker: WorkerProcess, { text }: WorkerEnd): void {
    this.#processes.delete(worker);
    this.#listening.delete(worker);
    if (this.#listening.size === 0 && this.#baseUrl !== undefined) this.#port ||= Number(new URL(this.#baseUrl).port);
    if (!this.#isReplacing) return;
    if (this.#misplaced.delete(worker)) {
      // The next one knows the port.
    } else if (worker.hasListened) {
      this.#logger.error(`A worker has ended, and another one starts: ${text}`);
    } else {
      this.#failedStarts += 1;
      this.#logger.error(`A worker could not start: ${text}`);
      if (this.#failedStarts >= MAX_FAILED_STARTS) {
        this.#fail(text);
        return;
      }
    }
    this.#start();
  }
}
