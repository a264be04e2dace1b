import { Injectable } from '@nestjs/common';
import type { Principal } from '../auth/token-verifier.js';
import { PlantRepository, type PlantSnapshot } from '../storage/plant-repository.js';
import { Admission } from './admission.js';
import { assertFields, type NewPlantDto, type PlantDto, toNewPlant } from './dto/plant.dto.js';
import { PlantCreator } from './plant-creator.js';

/** Creates and reads plants for the code of a host. */
@Injectable()
export class PlantsService {
  constructor(
    private readonly repository: PlantRepository,
    private readonly admission: Admission,
    private readonly creator: PlantCreator,
  ) {}

  /**
   * Creates a plant, and resolves when the plant is durable. The client chooses the id, which is therefore the idempotency
   * key: the same plant again has the same answer, and is stored once.
   *
   * @param options.principal the creator, for `onPlantCreated`
   * @throws {ContractException} 422 if it is not a NewPlant, 409 if the id belongs to another plant, 503 if the store is
   *   overloaded, unavailable or closed
   */
  async create(
    newPlant: Readonly<NewPlantDto>,
    options?: { readonly principal?: Principal | undefined },
  ): Promise<PlantDto> {
    const plant = toNewPlant(assertFields(newPlant));
    this.admission.assertRoom();
    return this.creator.create(plant, options?.principal);
  }

  /**
   * Takes a snapshot of the plants, to count, find or read them. Close it afterwards.
   *
   * @throws {RepositoryUnavailableError} if the store cannot be read now, and always for a database in memory
   * @throws {Error} if the repository is the host's own and lacks this method
   */
  async snapshot(): Promise<PlantSnapshot> {
    if (this.repository.snapshot === undefined) throw new Error('The repository has no method snapshot');
    return this.repository.snapshot();
  }
}
