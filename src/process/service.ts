import type { ManagedService } from '../management/managed-service.js';
import type { PlantRepository } from '../storage/plant-repository.js';
import type { Address } from './addresses.js';

type ServiceState = { readonly name: 'starting' } | { readonly name: 'serving' | 'stopping'; readonly baseUrl: string };

const OBSTACLES: Readonly<Record<ServiceState['name'], string | undefined>> = {
  starting: 'it is starting',
  serving: undefined,
  stopping: 'it is shutting down',
};

/**
 * A service with a public port. An `InProcessService` serves the port itself. A `ClusterService` serves it with workers, each
 * of which has an `InProcessService` of its own.
 *
 * | state    | the service                | SIGTERM or SIGINT                  | SIGHUP            | next state             |
 * |----------|----------------------------|------------------------------------|-------------------|------------------------|
 * | starting | does not listen yet        | ends the process                   | is ignored        | serving                |
 * | serving  | answers at its {base_url}  | begins the stop                    | reloads its files | stopping               |
 * | stopping | answers requests in flight | ends the process, but not a worker | is ignored        | none: the process ends |
 */
export abstract class Service implements ManagedService {
  #state: ServiceState = { name: 'starting' };

  constructor(readonly repository: PlantRepository) {}

  /** Enters the state `serving`. */
  beginServing(baseUrl: string): void {
    this.#state = { name: 'serving', baseUrl };
  }

  /** Enters the state `stopping`. */
  beginStop(): void {
    if (this.#state.name === 'serving') this.#state = { ...this.#state, name: 'stopping' };
  }

  get isStarting(): boolean {
    return this.#state.name === 'starting';
  }

  get isStopping(): boolean {
    return this.#state.name === 'stopping';
  }

  get baseUrl(): string | undefined {
    return this.#state.name === 'starting' ? undefined : this.#state.baseUrl;
  }

  get obstacle(): string | undefined {
    return OBSTACLES[this.#state.name];
  }

  /**
   * Opens the public port.
   *
   * @param docsPort the port whose docs page may send plants to the public port, or `off`. A `ClusterService` ignores it: its
   *   workers read the port from their configuration.
   * @throws {OperatorError} with a message for the operator
   */
  abstract listen(docsPort: number | 'off'): Promise<Address>;

  /** Starts the workers behind the first one, if there are any. Resolves when they listen, or after five seconds. */
  async startOtherWorkers(): Promise<void> {
    // A single process has no workers.
  }

  /** Reads the token file and the certificate now, even if the file system has not reported a change. */
  abstract reload(): void;

  abstract metrics(): Promise<string>;

  /** Resolves when the requests in flight are answered and the store is closed. */
  abstract close(): Promise<void>;
}
