import type { PlantRepository } from '../storage/plant-repository.js';

/** The service, as this room sees it: a port, and its own injection token. */
export abstract class ManagedService {
  abstract readonly repository: PlantRepository;

  /** {base_url}; undefined until the service listens. */
  abstract readonly baseUrl: string | undefined;

  /** The reason why the service takes no requests; undefined while it takes them. */
  abstract readonly obstacle: string | undefined;

  /** True while it answers its last requests, and closes the store. */
  abstract readonly isStopping: boolean;

  /** Returns the metrics in the text format of Prometheus, version 0.0.4. */
  abstract metrics(): Promise<string>;
}
