import { setImmediate as nextTurn } from 'node:timers/promises';
import { Inject, Injectable, Logger } from '@nestjs/common';
import type { Principal } from '../auth/token-verifier.js';
import { ContractException } from '../contract/contract.exception.js';
import { GroupCommit } from '../storage/group-commit.js';
import {
  type Outcome,
  PlantRepository,
  type PlantSnapshot,
  RepositoryUnavailableError,
} from '../storage/plant-repository.js';
import { Admission } from './admission.js';
import { assertFields, type NewPlantDto, type PlantDto, toNewPlant, toPlant } from './dto/plant.dto.js';
import type { PlantCreatedListener } from './plants.module-definition.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from './resolve-options.js';

@Injectable()
export class PlantsService {
  readonly #logger = new Logger('PlantStore');

  constructor(
    private readonly repository: PlantRepository,
    private readonly groupCommit: GroupCommit,
    private readonly admission: Admission,
    @Inject(RESOLVED_OPTIONS) private readonly options: Pick<ResolvedOptions, 'onPlantCreated'>,
  ) {}

  /**
   * Creates a plant for the host, and resolves when the plant is durable. The client chooses the id, which is therefore the
   * idempotency key: the same plant again has the same answer, and is stored once.
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
    this.admission.assertRoomForCall();
    return this.createChecked(plant, options?.principal);
  }

  /**
   * Creates a plant that `create` or the pipe of the route has checked. Admission counts the plant until its outcome is
   * known and the listener has ended.
   *
   * @param principal undefined if the host authenticates
   * @throws {ContractException} 409 or 503, like `create`
   */
  async createChecked(plant: Readonly<NewPlantDto>, principal: Principal | undefined): Promise<PlantDto> {
    const release = this.admission.admitPlant(plant);
    let listening: Promise<void> | undefined;
    try {
      const outcome = await this.#add(plant);
      if (outcome === 'conflict') throw new ContractException(409);
      const { onPlantCreated } = this.options;
      if (outcome === 'created' && onPlantCreated) listening = this.#notify(onPlantCreated, plant, principal);
      return toPlant(plant);
    } finally {
      // The listener still has the plant.
      if (listening) void listening.finally(release);
      else release();
    }
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

  /** @throws {ContractException} 503 if it is unknown whether the plant is stored */
  async #add(plant: Readonly<NewPlantDto>): Promise<Outcome> {
    try {
      return await this.groupCommit.add(plant);
    } catch (error) {
      throw error instanceof RepositoryUnavailableError ? new ContractException(503) : error;
    }
  }

  /** Calls the listener in a later turn, so that it can neither change nor delay the answer. Never rejects. */
  async #notify(listener: PlantCreatedListener, ...created: Parameters<PlantCreatedListener>): Promise<void> {
    await nextTurn();
    try {
      await listener(...created);
    } catch (error) {
      const [{ id }] = created;
      this.#logger.error(`onPlantCreated failed for the plant ${id}`, error instanceof Error ? error.stack : error);
    }
  }
}
