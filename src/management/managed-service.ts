import type { PlantRepository } from '../storage/plant-repository.js';

/** A service, as its operator sees it; the class is also the injection token. */
export abstract class ManagedService {
  /** {base_url}; undefined until the service listens. */
  baseUrl: string | undefined;
  isStopping = false;

  constructor(readonly repository: PlantRepository) {}

  /** The reason why the service takes no requests; undefined while it takes them. */
  get obstacle(): string | undefined {
    if (this.isStopping) return 'it is shutting down';
    return this.baseUrl === undefined ? 'it is starting' : undefined;
  }

  /** Returns the metrics in the text format of Prometheus, version 0.0.4. */
  abstract metrics(): Promise<string>;
}
