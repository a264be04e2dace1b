import type { PlantRepository } from '../storage/plant-repository.js';

/**
 * | state    | the service                 | next state                                          |
 * |----------|-----------------------------|-----------------------------------------------------|
 * | starting | does not listen yet         | serving; a signal ends the process                  |
 * | serving  | answers at its {base_url}   | stopping, at a signal                               |
 * | stopping | answers requests in flight  | none: the process ends                              |
 */
export type ServiceState =
  { readonly name: 'starting' } | { readonly name: 'serving' | 'stopping'; readonly baseUrl: string };

/** A service, as its operator sees it; the class is also the injection token. */
export abstract class ManagedService {
  #state: ServiceState = { name: 'starting' };

  constructor(readonly repository: PlantRepository) {}

  get state(): ServiceState {
    return this.#state;
  }

  /** The service listens. */
  serve(baseUrl: string): void {
    this.#state = { name: 'serving', baseUrl };
  }

  /** The service has got a signal. */
  beginStop(): void {
    if (this.#state.name === 'serving') this.#state = { ...this.#state, name: 'stopping' };
  }

  /** {base_url}; undefined until the service listens. */
  get baseUrl(): string | undefined {
    return this.state.name === 'starting' ? undefined : this.state.baseUrl;
  }

  /** The reason why the service takes no requests; undefined while it takes them. */
  get obstacle(): string | undefined {
    return OBSTACLES[this.state.name];
  }

  /** Returns the metrics in the text format of Prometheus, version 0.0.4. */
  abstract metrics(): Promise<string>;
}

const OBSTACLES: Readonly<Record<ServiceState['name'], string | undefined>> = {
  starting: 'it is starting',
  serving: undefined,
  stopping: 'it is shutting down',
};
