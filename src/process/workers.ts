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
 * same environment. One that ends is started again.
 */
export class Workers extends ManagedService {
  readonly #logger = new Logger('PlantStore');
  readonly #metrics = new WorkerMetrics();
  readonly #listening = new Set<Worker>();

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
   * start is started again, and does not keep the others from serving. If the first one ends before it listens, this
   * process ends, too.
   */
  async listen(): Promise<Address> {
    const first = this.#fork();
    const endProcess = (code: number, killer: string | null): never => {
      // Otherwise it has told the operator why.
      if (killer !== null) this.#logger.error(`The first worker has ended with ${killer} before it listened`);
      process.exit(code > 0 ? code : EXIT_STATUS.failed);
    };
    first.prependOnceListener('exit', endProcess);
    const [address] = (await once(first, 'listening')) as [Address];
    first.off('exit', endProcess);
    const others = Array.from({ length: this.count - 1 }, () => this.#fork());
    await Promise.all(others.map((worker) => Promise.race([once(worker, 'listening'), once(worker, 'exit')])));
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
    const codes = (await Promise.all(ends)).map(([code]: (number | null)[]) => code);
    await this.repository.close();
    if (codes.includes(EXIT_STATUS.failed)) throw new Error('a worker could not close');
  }

  #fork(): Worker {
    const worker = cluster.fork();
    worker.on('listening', () => this.#listening.add(worker));
    worker.once('exit', (code, killer: string | null) => this.#replace(worker, killer ?? `status ${code}`));
    worker.on('error', ({ message }: Error) => {
      // The process could not be created. In other cases, an exit follows.
      if (worker.process.pid === undefined) this.#replace(worker, message);
    });
    return worker;
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

/** Returns the workers that have not ended. */
function running(): Worker[] {
  return Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
}

function signal(workers: Iterable<Worker>, name: NodeJS.Signals): void {
  for (const worker of workers) worker.process.kill(name);
}
