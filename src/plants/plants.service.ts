import { setImmediate as nextTurn } from 'node:timers/promises';
import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { Principal } from '../auth/token-verifier.js';
import { ContractException } from '../contract/contract.exception.js';
import { GroupCommit } from '../storage/group-commit.js';
import { type Outcome, RepositoryUnavailableError } from '../storage/plant-repository.js';
import { type NewPlantDto, type PlantDto, toNewPlant, ValidNewPlant } from './dto/plant.dto.js';
import { ResolvedOptions } from './resolve-options.js';

/** Creates plants, for PlantsController and for the code of a host. */
@Injectable()
export class PlantsService implements OnApplicationShutdown {
  readonly #logger = new Logger('PlantStore');
  /** The calls of `onPlantCreated` that have not ended. */
  readonly #calls = new Set<Promise<void>>();
  #isClosed = false;

  constructor(
    private readonly groupCommit: GroupCommit,
    private readonly options: ResolvedOptions,
  ) {}

  /**
   * Creates a plant, and resolves when the plant is durable. The client chooses the id, which is therefore the
   * idempotency key: the same plant again has the same answer, and is stored once.
   *
   * @param options.principal the creator, for `onPlantCreated`
   * @throws {ContractException} 422 if it is not a NewPlant, 409 if the id belongs to another plant, 503 if the store
   *   is overloaded, unavailable or closed
   */
  async create(
    newPlant: Readonly<NewPlantDto>,
    { principal }: { readonly principal?: Principal | undefined } = {},
  ): Promise<PlantDto> {
    // The pipe has validated the plants of clients.
    const plant = newPlant instanceof ValidNewPlant ? newPlant : toNewPlant(newPlant);
    const outcome = await this.#store(plant);
    if (outcome === 'conflict') throw new ContractException(409);
    if (outcome === 'created') this.#notify(plant, principal);
    const { name, tag } = plant;
    return { name, tag };
  }

  /**
   * Refuses further plants, and resolves when the others are stored and the calls of `onPlantCreated` have ended. Nest
   * calls this when the server has sent its last answer, and before the hook of PlantsModule, which closes the store.
   */
  async onApplicationShutdown(): Promise<void> {
    this.#isClosed = true;
    await this.groupCommit.idle();
    await Promise.all(this.#calls);
  }

  async #store(plant: ValidNewPlant): Promise<Outcome> {
    if (this.#isClosed || this.groupCommit.isFull) throw new ContractException(503);
    try {
      return await this.groupCommit.add(plant);
    } catch (error) {
      // It is unknown whether the plant is stored.
      throw error instanceof RepositoryUnavailableError ? new ContractException(503) : error;
    }
  }

  /** Calls the listener in a later turn, so that it can neither change nor delay the answer. */
  #notify(plant: ValidNewPlant, principal: Principal | undefined): void {
    const { onPlantCreated } = this.options;
    if (onPlantCreated === undefined) return;
    const call = nextTurn()
      .then(() => onPlantCreated(plant, principal))
      .catch((error: unknown) => {
        const reason = error instanceof Error ? error.stack : error;
        this.#logger.error(`onPlantCreated failed for the plant ${plant.id}`, reason);
      })
      .then(() => void this.#calls.delete(call));
    this.#calls.add(call);
  }
}
