import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { changedVariable, type Configuration, loadConfiguration } from '../config/configuration.js';
import { EXIT_STATUS } from '../operator-error.js';
import { PrimaryMetrics } from '../management/primary-metrics.js';
import type { PlantRepository } from '../storage/plant-repository.js';
import type { Address } from './addresses.js';
import type { OperatorFiles } from './operator-files.js';
import { Service } from './service.js';

/** Milliseconds until another worker starts, so that workers that fail at once do not take all of the CPU. */
const RESTART_DELAY = 1_000;

/** Milliseconds that the service waits for its other workers before it says that it is up. */
const OTHERS_TIMEOUT = 5_000;

/**
 * Serves the public port with workers. Each worker runs the command of this process, in the same environment. `#exited` and
 * `#notCreated` react to the end of a worker in each state.
 */
export class ClusterService extends Service {
  readonly #logger = new Logger('PlantStore');
  readonly #metrics = new PrimaryMetrics();
  readonly #listening = new Set<Worker>();

  constructor(
    private readonly configuration: Configuration,
    private readonly files: OperatorFiles,
    repository: PlantRepository,
  ) {
    super(repository);
  }

  /** Starts a worker, and resolves when it listens. If it ends before it listens, `#exited` ends this process. */
  override async listen(): Promise<Address> {
    this.#watchWorkers();
    this.#fork();
    const [, address] = (await once(cluster, 'listening')) as [Worker, Address];
    return address;
  }

  /** Starts the other workers. A worker that cannot listen delays the log line of the start by OTHERS_TIMEOUT at most. */
  override async startOtherWorkers(): Promise<void> {
    const { workers: count } = this.configuration;
    for (let started = 1; started < count; started += 1) this.#fork();
    const limit = AbortSignal.timeout(OTHERS_TIMEOUT);
    while (this.#listening.size < count && !limit.aborted) {
      await once(cluster, 'listening', { signal: limit }).catch(() => undefined);
    }
    const { size } = this.#listening;
    if (size < count && !this.isStopping) {
      this.#logger.warn(`Workers that listen: ${size} of ${count}; the others still start`);
    }
  }

  override reload(): void {
    // A worker that does not listen yet reads its files later, or sees the change when it begins to watch them. Windows
    // cannot send SIGHUP: there, each worker sees the change within a second.
    if (process.platform !== 'win32') signal(this.#listening, 'SIGHUP');
  }

  override get obstacle(): string | undefined {
    return super.obstacle ?? (this.#listening.size === 0 ? 'no worker listens' : undefined);
  }

  override metrics(): Promise<string> {
    return this.#metrics.text();
  }

  /** @throws if a worker could not close in order */
  override async close(): Promise<void> {
    const workers = running();
    signal(workers, 'SIGTERM');
    while (running().length > 0) await once(cluster, 'exit');
    await this.repository.close();
    const failed = workers.find((worker) => !hasEndedInOrder(worker));
    if (failed !== undefined) throw new Error(`a worker could not close: ${causeOfEnd(failed)}`);
  }

  #watchWorkers(): void {
    // The system gives each connection to an idle worker. With round robin, this process would accept the connections, and
    // one that it hands to a worker that ends would stay open without an answer.
    cluster.schedulingPolicy = cluster.SCHED_NONE;
    cluster.on('listening', (worker) => this.#listening.add(worker));
    cluster.on('exit', (worker) => {
      this.#listening.delete(worker);
      this.#exited(worker);
    });
    // All workers end with this process, even those that no longer react.
    process.once('exit', () => signal(running(), 'SIGKILL'));
  }

  /** Forks a worker. Events of `cluster` tell when it listens and when it ends. */
  #fork(): void {
    // If the system cannot create the process, Node 20 emits `error` for some codes, such as EAGAIN, and throws others:
    // https://github.com/nodejs/node/blob/v20.20.2/lib/internal/child_process.js (ChildProcess.prototype.spawn)
    try {
      const worker = cluster.fork();
      worker.on('error', (error: Error) => {
        // Other errors are those of the channel to the worker. They need no reaction: a worker that ends emits `exit`.
        if (worker.process.pid === undefined) this.#notCreated(error);
      });
    } catch (error) {
      this.#notCreated(error as Error);
    }
  }

  #notCreated(error: Error): void {
    this.#logger.error(`The system cannot create a worker: ${error.message}`);
    if (this.isStarting) return process.exit(EXIT_STATUS.failed);
    void this.#replace();
  }

  #exited(worker: Worker): void {
    // A first worker that ends probably cannot use the configuration.
    if (this.isStarting) return this.#exitAs(worker);
    if (this.isStopping) return;
    this.#logger.error(`Worker ${worker.id} has ended, and another one starts: ${causeOfEnd(worker)}`);
    void this.#replace();
  }

  /** Ends this process with the status of the first worker, which has printed the reason unless a signal has killed it. */
  #exitAs({ process: { exitCode, signalCode } }: Worker): never {
    if (signalCode !== null) this.#logger.error(`The first worker has ended with ${signalCode} before it listened`);
    process.exit(exitCode !== null && exitCode > 0 ? exitCode : EXIT_STATUS.failed);
  }

  /** Starts another worker, a second from now or as soon as it can start after that. */
  async #replace(): Promise<void> {
    let logged: string | undefined;
    for (;;) {
      await wait(RESTART_DELAY);
      const obstacle = await this.#obstacleToStart();
      if (this.isStopping) return;
      if (obstacle === undefined) break;
      if (obstacle !== logged) this.#logger.error(`No worker starts for now: ${obstacle}`);
      logged = obstacle;
    }
    this.#metrics.restarts.inc();
    this.#fork();
  }

  /**
   * Returns why no worker can start; undefined if one can. A worker with another configuration could answer from another
   * store than the others, one without the files of the store would create an empty store, and one without the tokens would
   * refuse clients that others serve.
   */
  async #obstacleToStart(): Promise<string | undefined> {
    try {
      const changed = changedVariable(this.configuration, loadConfiguration());
      if (changed !== undefined) return `${changed} has changed: restart the service, or change it back`;
      await this.repository.check?.();
      this.files.assertNewWorkerCanStart();
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  }
}

/** Returns whether a worker has ended in order. SIGTERM kills one only at the beginning of its start, without any client. */
function hasEndedInOrder({ process: { exitCode, signalCode } }: Worker): boolean {
  return exitCode === EXIT_STATUS.done || signalCode === 'SIGTERM';
}

/** Returns the status of a worker that has ended, or the signal that has killed it. */
function causeOfEnd({ process: { exitCode, signalCode } }: Worker): string {
  return signalCode ?? `status ${exitCode}`;
}

/** Returns the workers that have not ended. `cluster` keeps an ended worker until its channel closes, or for ever. */
function running(): Worker[] {
  return Object.values(cluster.workers ?? {}).filter(
    (worker): worker is Worker => worker !== undefined && !worker.isDead(),
  );
}

function signal(workers: Iterable<Worker>, name: NodeJS.Signals): void {
  for (const worker of workers) worker.process.kill(name);
}
