import cluster, { type Address, type Worker } from 'node:cluster';
import { once } from 'node:events';
import { Logger } from '@nestjs/common';
import { EXIT_STATUS } from '../operator-error.js';
import { ManagedService } from '../management/managed-service.js';
import { WorkerMetrics } from '../management/worker-metrics.js';
import type { PlantRepository } from '../storage/plant-repository.js';

/** Milliseconds until another worker starts, so that one that can never start does not take all of the CPU. */
const RESTART_DELAY = 1_000;

/**
 * Serves the public port with workers. Each of them is the whole service: it runs the command of this process, in the
 * same environment. Until one has listened, a worker that ends also ends this process: the cause is most likely the
 * configuration. From then on, a worker that ends is replaced.
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

  /**
   * Starts a worker and, when it listens, the others. Resolves when each of them listens or has ended: one that cannot
   * start does not keep the others from serving.
   */
  async listen(): Promise<Address> {
    const [address] = (await once(this.#fork(), 'listening')) as [Address];
    const others = Array.from({ length: this.count - 1 }, () => this.#fork());
    await Promise.all(others.map(listensOrEnds));
    return address;
  }

  /** Lets the workers read their token file and certificate now. One that starts reads them anyway. */
  reload(): void {
    signal(this.#listening, 'SIGHUP');
  }

  override get obstacle(): string | undefined {
    return super.obstacle ?? (this.#listening.size === 0 ? 'no worker listens' : undefined);
  }

  override metrics(): Promise<string> {
    return this.#metrics.text();
  }

  /** @throws if a worker could not close in order */
  async close(): Promise<void> {
    const workers = running();
    const ends = workers.map((worker) => once(worker, 'exit'));
    signal(workers, 'SIGTERM');
    const results = (await Promise.all(ends)) as [code: number | null, killer: string | null][];
    await this.repository.close();
    // SIGTERM kills a worker only at the beginning of its start, when it has no clients yet.
    const failure = results.find(([code, killer]) => code !== EXIT_STATUS.done && killer !== 'SIGTERM');
    if (failure !== undefined) throw new Error(`a worker could not close: ${endOf(...failure)}`);
  }

  #fork(): Worker {
    const worker = cluster.fork();
    worker.once('listening', () => {
      this.#listening.add(worker);
      this.#hasListened = true;
    });
    worker.once('exit', (code: number | null, killer: string | null) => {
      if (this.#hasListened) this.#replace(worker, endOf(code, killer));
      else this.#endWith(code, killer);
    });
    worker.on('error', ({ message }: Error) => {
      // The process could not be created; `listen` throws the error of the first one. In other cases, an exit follows.
      if (this.#hasListened && worker.process.pid === undefined) this.#replace(worker, message);
    });
    return worker;
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
      this.#fork();
    }, RESTART_DELAY);
  }
}

/** Resolves also if the process of the worker could not be created. */
function listensOrEnds(worker: Worker): Promise<unknown> {
  return new Promise((resolve) => {
    for (const event of ['listening', 'exit', 'error']) worker.once(event, resolve);
  });
}

function endOf(code: number | null, killer: string | null): string {
  return killer ?? `status ${code}`;
}

/** Returns the workers that have not ended. */
function running(): Worker[] {
  return Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
}

function signal(workers: Iterable<Worker>, name: NodeJS.Signals): void {
  for (const worker of workers) worker.process.kill(name);
}
