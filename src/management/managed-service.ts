import type { PlantRepository } from '../storage/plant-repository.js';

/** A service, as its operator sees it; the class is also the injection token. */
export abstract class ManagedService {
  /** {base_url}; undefined until the service listens. */
  abstract readonly baseUrl: string | undefined;
  /** The reason why the service takes no requests; undefined while it takes them. */
  abstract readonly obstacle: string | undefined;

  constructor(readonly repository: PlantRepository) {}

  /** Returns the metrics in the text format of Prometheus, version 0.0.4. */
  abstract metrics(): Promise<string>;
}
