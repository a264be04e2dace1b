import type { PlantRepository } from '../storage/plant-repository.js';

/** The service as the management listener sees it. It is a class, so that it is its own injection token. */
export abstract class ManagedService {
  abstract readonly repository: PlantRepository;

  /** {base_url}; undefined until the service listens. */
  abstract readonly baseUrl: string | undefined;

  /** The reason why the service takes no requests; undefined while it takes them. */
  abstract readonly obstacle: string | undefined;

  /** True while the service answers its last requests and closes the store. */
  abstract readonly isStopping: boolean;

  /** Returns the metrics in the text format of Prometheus, version 0.0.4. */
  abstract metrics(): Promise<string>;
}
