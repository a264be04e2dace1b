import cluster, { type Worker } from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { EXIT_STATUS } from '../operator-error.js';
import { WorkerMetrics } from '../management/worker-metrics.js';
import type { PlantRepository } from '../storage/plant-repository.js';
import type { Address } from './addresses.js';
import { PublicService } from './public-service.js';

/** Milliseconds until another worker starts, so that one that can never start does not take all of the CPU. */
const RESTART_DELAY = 1_000;

/** Milliseconds that the service waits for its other workers before it says that it is up. */
const OTHERS_TIMEOUT = 5_000;

/** The exit of a worker. */
class WorkerExit extends Error {
  constructor(
    readonly code: number | null,
    readonly killer: string | null,
  ) {
    super(killer ?? `status ${code}`);
  }
}

/**
 * Serves the public port with workers. Each of them is the whole service: it runs the command of this process, in the
 * same environment. A worker ends when it exits, or when its process cannot be created. What follows depends on whether any
 * worker has listened, which ends the state `starting`: without one, the cause is most likely the configuration.
 *
 * | worker            | none has listened            | one has listened                                          |
 * |-------------------|------------------------------|-----------------------------------------------------------|
 * | exits             | this process ends in its way | it is replaced when it can start, but not during the stop |
 * | cannot be created | `listen` throws the error    | it is replaced when it can start, but not during the stop |
 */
export class Workers extends PublicService {
  readonly #logger = new Logger('PlantStore');
  readonly #metrics = new WorkerMetrics();
  readonly #listening = new Set<Worker>();

  /** @param checkFiles throws if a worker that starts now could not use the files of the service */
  constructor(
    private readonly count: number,
    repository: PlantRepository,
    private readonly checkFiles: () => void,
  ) {
    super(repository);
    // The system gives a connection to an idle worker. With round robin, this process would accept them, and one that it
    // hands to a worker that ends would stay open without an answer.
    cluster.schedulingPolicy = cluster.SCHED_NONE;
    // Workers end with this process, those that no longer react included.
    process.once('exit', () => signal(running(), 'SIGKILL'));
  }

  /** Starts a worker, and resolves when it listens. Workers read the port of the docs page from their configuration. */
  override listen(): Promise<Address> {
    return this.#fork();
  }

  /** Starts the other workers. One that cannot start, or hangs, does not keep the others from serving. */
  override async startOthers(): Promise<void> {
    const starts = Promise.allSettled(Array.from({ length: this.count - 1 }, () => this.#fork()));
    const isLate = await Promise.race([starts.then(() => false), sleep(OTHERS_TIMEOUT, true)]);
    if (isLate)
      this.#logger.warn(`Workers that listen: ${this.#listening.size} of ${this.count}; the others still start`);
  }

  override reload(): void {
    // A worker that starts reads its files anyway.
    signal(this.#listening, 'SIGHUP');
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
    const ends = workers.map(exitOf);
    signal(workers, 'SIGTERM');
    const exits = await Promise.all(ends);
    await this.repository.close();
    // SIGTERM kills a worker only at the beginning of its start, when it has no clients yet.
    const failure = exits.find(({ code, killer }) => code !== EXIT_STATUS.done && killer !== 'SIGTERM');
    if (failure !== undefined) throw new Error(`a worker could not close: ${failure.message}`);
  }

  /** Starts a worker. Resolves when it listens, and rejects with the reason if it ends before. */
  async #fork(): Promise<Address> {
    const worker = this.#create();
    return new Promise((resolve, reject) => {
      worker.once('listening', (address: Address) => {
        this.#listening.add(worker);
        resolve(address);
      });
      void endOf(worker).then((reason) => {
        this.#listening.delete(worker);
        this.#ended(reason, worker.id);
        reject(reason);
      });
    });
  }

  #create(): Worker {
    try {
      return cluster.fork();
    } catch (error) {
      // Node 20 emits `error` for EACCES, EAGAIN, EMFILE, ENFILE and ENOENT. It throws any other, such as ENOMEM.
      // https://github.com/nodejs/node/blob/v20.20.2/lib/internal/child_process.js (ChildProcess.prototype.spawn)
      this.#ended(error as Error);
      throw error;
    }
  }

  /** Does what follows the end of a worker, as the table above says. */
  #ended(reason: Error, id?: number): void {
    const { name } = this.state;
    // A worker that cannot be created is an error of `listen`.
    if (name === 'starting' && reason instanceof WorkerExit) this.#exitAs(reason);
    if (name === 'serving') {
      this.#logger.error(`Worker ${id ?? '(not created)'} has ended, and another one starts: ${reason.message}`);
      void this.#replace();
    }
  }

  /** Ends this process as the first worker has ended, which has told the operator why, unless a signal has killed it. */
  #exitAs({ code, killer }: WorkerExit): never {
    if (killer !== null) this.#logger.error(`The first worker has ended with ${killer} before it listened`);
    process.exit(code !== null && code > 0 ? code : EXIT_STATUS.failed);
  }

  /**
   * Starts another worker once the store takes plants, and the files of the service can be used: without those of the
   * store, the worker would create an empty one, and without the tokens, it would refuse clients that others serve.
   */
  async #replace(isFirst = true): Promise<void> {
    await sleep(RESTART_DELAY);
    try {
      await this.repository.check?.();
      this.checkFiles();
    } catch (error) {
      if (this.isStopping) return;
      if (isFirst) this.#logger.error(`No worker starts for now: ${(error as Error).message}`);
      void this.#replace(false);
      return;
    }
    if (this.isStopping) return;
    this.#metrics.restarts.inc();
    // `#ended` deals with it.
    this.#fork().catch(() => undefined);
  }
}

/** Resolves when a worker has ended: with its exit, or with the error if the system could not create its process. */
function endOf(worker: Worker): Promise<Error> {
  return new Promise((resolve) => {
    void exitOf(worker).then(resolve);
    worker.on('error', (error: Error) => {
      // Other errors are those of its channel: if it ends, it also exits.
      if (!hasProcess(worker)) resolve(error);
    });
  });
}

/** Resolves when a worker exits. Unlike `once` of node:events, it does not reject at an error of the worker's channel. */
function exitOf(worker: Worker): Promise<WorkerExit> {
  return new Promise((resolve) => {
    worker.once('exit', (code: number | null, killer: string | null) => resolve(new WorkerExit(code, killer)));
  });
}

/** Returns the workers that have not ended. `cluster` also keeps others: until their channel closes, or for ever. */
function running(): Worker[] {
  return Object.values(cluster.workers ?? {}).filter(
    (worker): worker is Worker => worker !== undefined && hasProcess(worker) && !worker.isDead(),
  );
}

/** Returns false if the system could not create the process of a worker; there is no exit then. */
function hasProcess({ process }: Worker): boolean {
  return process.pid !== undefined;
}

function signal(workers: Iterable<Worker>, name: NodeJS.Signals): void {
  for (const worker of workers) worker.process.kill(name);
}
