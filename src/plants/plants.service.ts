import { Injectable } from '@nestjs/common';
import type { Principal } from '../auth/principal.js';
import { ContractException } from '../contract/contract.exception.js';
import { GroupCommit } from '../storage/group-commit.js';
import { lengthOf } from '../storage/plant-columns.js';
import {
  type Outcome,
  PlantRepository,
  type PlantSnapshot,
  RepositoryUnavailableError,
} from '../storage/plant-repository.js';
import { Admission } from './admission.js';
import { type NewPlantDto, toNewPlant, toPlant } from './dto/new-plant.dto.js';
import type { PlantDto } from './dto/plant.dto.js';
import { PlantCreatedHook } from './plant-created.hook.js';

@Injectable()
export class PlantsService {
  constructor(
    private readonly repository: PlantRepository,
    private readonly groupCommit: GroupCommit,
    private readonly admission: Admission,
    private readonly hook: PlantCreatedHook,
  ) {}

  /**
   * Creates a plant, and resolves when it is durable. The id is the client's, and therefore the idempotency key: the
   * same plant again has the same answer, and is stored once.
   *
   * @param options.principal the creator, which gets its share of the requests in flight; none if the host authenticates
   * @throws {ContractException} 422 if it is not a NewPlant, 409 if the id belongs to another plant, 503 if the store is
   *   overloaded, unavailable or closed
   */
  async create(
    newPlant: Readonly<NewPlantDto>,
    { principal }: { readonly principal?: Principal | undefined } = {},
  ): Promise<PlantDto> {
    const plant = toNewPlant(newPlant);
    const leave = this.#enter(plant, principal?.name);
    let outcome: Outcome | undefined;
    try {
      outcome = await this.#store(plant);
    } finally {
      // The call of the hook keeps the plant in memory.
      if (outcome === 'created') this.hook.call(plant, principal, leave);
      else leave();
    }
    if (outcome === 'conflict') throw new ContractException(409);
    return toPlant(plant);
  }

  /**
   * Takes a snapshot of the plants, to count, find or read them. Close it afterwards.
   *
   * @throws {RepositoryUnavailableError} when the store cannot be read now
   */
  snapshot(): Promise<PlantSnapshot> {
    return this.repository.snapshot();
  }

  /** Takes a place among the requests in flight, and returns a function that leaves it. */
  #enter(plant: Readonly<NewPlantDto>, principal: string | undefined): () => void {
    // A UTF-16 unit occupies up to two bytes.
    const bytes = 2 * lengthOf(plant);
    this.admission.enter(principal);
    // The result does not matter: the plant is in memory already, and beyond the limit the next request is refused.
    this.admission.charge(principal, bytes);
    return () => this.admission.leave(principal, bytes);
  }

  async #store(plant: Readonly<NewPlantDto>): Promise<Outcome> {
    try {
      return await this.groupCommit.add(plant);
    } catch (error) {
      if (error instanceof RepositoryUnavailableError) throw new ContractException(503);
      throw error;
    }
  }
}
