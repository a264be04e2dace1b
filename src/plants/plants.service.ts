import { Injectable } from '@nestjs/common';
import { ContractException } from '../errors/contract.exception.js';
import { GroupCommit } from '../storage/group-commit.js';
import { RepositoryUnavailableError } from '../storage/plant-repository.js';
import type { NewPlantDto } from './dto/new-plant.dto.js';
import type { PlantDto } from './dto/plant.dto.js';

/** What creating a plant means. */
@Injectable()
export class PlantsService {
  constructor(private readonly commit: GroupCommit) {}

  /**
   * Creates a plant, and resolves when it is durable. The id is the client's, and so the idempotency key: the same
   * plant again is the same success, and stored once.
   *
   * @throws {ContractException} 409 where the id belongs to another plant, 503 where the store cannot be reached
   */
  async create({ id, name, tag }: NewPlantDto): Promise<PlantDto> {
    try {
      if ((await this.commit.add({ id, name, tag })) === 'conflict') throw new ContractException(409);
    } catch (error) {
      if (!(error instanceof RepositoryUnavailableError)) throw error;
      throw new ContractException(503);
    }
    return tag === undefined ? { name } : { name, tag };
  }
}
