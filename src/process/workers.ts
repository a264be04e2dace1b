import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { Logger } from '@nestjs/common';
import { EXIT_STATUS } from '../operator-error.js';
import { type Address, ManagedService } from '../management/managed-service.js';
import { WorkerMetrics } from '../management/worker-metrics.js';
import type { PlantRepository } from '../storage/plant-repository.js';

/** Milliseconds until another worker starts, so that one that can never start does not take all of the CPU. */
const RESTART_DELAY = 1_000;

/**
 * Serves the public port with workers. Each of them is the whole service: it runs the command of this process, in the
 * same environment. A worker ends when it exits, or when its process cannot be created. What follows depends on whether any
 * worker has listened: without one, the cause is most likely the configuration.
 *
 * | worker            | none has listened            | one has listened                        |
 * |-------------------|------------------------------|-----------------------------------------|
 * | exits             | this process ends in its way | it is replaced, but not during the stop |
 * | cannot be created | `listen` throws the error    | it is replaced, but not during the stop |
 */
export class Workers extends ManagedService {
  readonly #logger = new Logger('PlantStore');
  readonly #metrics = new WorkerMetrics();
  readonly #listening = new Set<Worker>();
  #hasListened = false;

  constructor(
    private readonly count: number,
    repository: PlantRepository,
  ) {
    super(repository);
    // The system gives a connection to an idle worker. With round robin, this process would accept them, and one that it
    // hands to a worker that ends would stay open without an answer.
    cluster.schedulingPolicy = cluster.SCHED_NONE;
    // Workers end with this process, those that no longer react included.
    process.once('exit', () => signal(running(), 'SIGKILL'));
  }

  /** Starts a worker, and resolves when it listens. */
  override listen(): Promise<Address> {
    return this.#fork();
  }

  /**
   * Starts the other workers. Resolves when each of them listens or has ended: one that cannot start does not keep the
   * others from serving.
   */
  async startOthers(): Promise<void> {
    await Promise.allSettled(Array.from({ length: this.count - 1 }, () => this.#fork()));
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
    const ends = workers.map((worker) => once(worker, 'exit'));
    signal(workers, 'SIGTERM');
    const results = (await Promise.all(ends)) as [code: number | null, killer: string | null][];
    await this.repository.close();
    // SIGTERM kills a worker only at the beginning of its start, when it has no clients yet.
    const failure = results.find(([code, killer]) => code !== EXIT_STATUS.done && killer !== 'SIGTERM');
    if (failure !== undefined) throw new Error(`a worker could not close: ${endOf(...failure)}`);
  }

  /** Starts a worker. Resolves when it listens, and rejects if it ends before. */
  #fork(): Promise<Address> {
    const worker = cluster.fork();
    return new Promise((resolve, reject) => {
      const end = (reason: Error): void => {
        reject(reason);
        if (this.#hasListened) this.#replace(worker, reason.message);
      };
      worker.once('listening', (address: Address) => {
        this.#listening.add(worker);
        this.#hasListened = true;
        resolve(address);
      });
      worker.once('exit', (code: number | null, killer: string | null) => {
        if (this.#hasListened) end(new Error(endOf(code, killer)));
        else this.#endWith(code, killer);
      });
      worker.on('error', (error: Error) => {
        // Other errors are those of its channel: if it ends, it also exits.
        if (!hasProcess(worker)) end(error);
      });
    });
  }

  /** Ends this process as the first worker has ended. */
  #endWith(code: number | null, killer: string | null): never {
    // Otherwise the worker has told the operator why.
    if (killer !== null) this.#logger.error(`The first worker has ended with ${killer} before it listened`);
    process.exit(code !== null && code > 0 ? code : EXIT_STATUS.failed);
  }

  #replace(ended: Worker, reason: string): void {
    this.#listening.delete(ended);
    if (this.state.name === 'stopping') return;
    this.#logger.error(`Worker ${ended.id} has ended, and another one starts: ${reason}`);
    setTimeout(() => {
      if (this.state.name === 'stopping') return;
      this.#metrics.restarts.inc();
      void this.#fork().catch(() => undefined);
    }, RESTART_DELAY);
  }
}

function endOf(code: number | null, killer: string | null): string {
  return killer ?? `status ${code}`;
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
