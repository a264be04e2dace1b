import type { PlantRepository } from '../storage/plant-repository.js';

/** The service as the management listener sees it. It is a class, so that it is its own injection token. */
export abstract class ManagedService {
  abstract readonly version: string;

  abstract readonly repository: PlantRepository;

  /** True while the service answers its last requests and closes the store. */
  abstract readonly isStopping: boolean;

  /** Returns the number of plants that wait for their batch. */
  abstract queueDepth(): number;

  /** Returns when the certificate of the public port expires, if it has one. */
  abstract certificateExpiry(): Date | undefined;

  /** Returns when the next static token expires, if one does. */
  abstract tokenExpiry(): Date | undefined;
}

/** @throws {Error} with the reason, while the service takes no plants */
export async function assertReady({ isStopping, repository }: ManagedService): Promise<void> {
  if (isStopping) throw new Error('it is shutting down');
  await repository.check?.();
}
