import { Injectable } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import { ContractException } from '../errors/contract.exception.js';
import { GroupCommit } from '../storage/group-commit.js';
import { RepositoryUnavailableError } from '../storage/plant-repository.js';
import type { NewPlantDto } from './dto/new-plant.dto.js';
import { PlantDto } from './dto/plant.dto.js';

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
  async create(plant: NewPlantDto): Promise<PlantDto> {
    try {
      if ((await this.commit.add(plant)) === 'conflict') throw new ContractException(409);
    } catch (error) {
      if (!(error instanceof RepositoryUnavailableError)) throw error;
      throw new ContractException(503);
    }
    return plantOf(plant);
  }
}

/** What a Plant exposes, and so not the id; asked once, because class-transformer takes long to tell. */
const EXPOSED = Object.keys(plainToInstance(PlantDto, {}, { excludeExtraneousValues: true })) as (keyof PlantDto)[];

function plantOf(plant: NewPlantDto): PlantDto {
  const answer = new PlantDto();
  for (const field of EXPOSED) if (plant[field] !== undefined) answer[field] = plant[field];
  return answer;
}
