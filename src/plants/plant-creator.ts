import { setImmediate as nextTurn } from 'node:timers/promises';
import { Inject, Injectable, Logger } from '@nestjs/common';
import type { Principal } from '../auth/token-verifier.js';
import { ContractException } from '../contract/contract.exception.js';
import { GroupCommit } from '../storage/group-commit.js';
import { RepositoryUnavailableError } from '../storage/plant-repository.js';
import { Admission } from './admission.js';
import { type NewPlant, type PlantDto, toPlant } from './dto/plant.dto.js';
import type { PlantCreatedListener } from './plants.module-definition.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from './resolve-options.js';

/** Creates plants that PlantsController or PlantsService has checked. The module does not export it. */
@Injectable()
export class PlantCreator {
  readonly #logger = new Logger('PlantStore');

  constructor(
    private readonly groupCommit: GroupCommit,
    private readonly admission: Admission,
    @Inject(RESOLVED_OPTIONS) private readonly options: Pick<ResolvedOptions, 'onPlantCreated'>,
  ) {}

  /**
   * Creates a valid plant, and resolves when the plant is durable. Admission counts the plant until its outcome is known and
   * the listener has ended.
   *
   * @param principal the creator, for `onPlantCreated`; undefined if the host authenticates
   * @throws {ContractException} 409 if the id belongs to another plant, 503 if the store is overloaded, unavailable or closed
   */
  async create(plant: NewPlant, principal: Principal | undefined): Promise<PlantDto> {
    const release = this.admission.admitPlant(plant);
    let notification: Promise<void> | undefined;
    try {
      const outcome = await this.groupCommit.add(plant);
      if (outcome === 'conflict') throw new ContractException(409);
      const { onPlantCreated } = this.options;
      if (outcome === 'created' && onPlantCreated) notification = this.#notify(onPlantCreated, plant, principal);
      return toPlant(plant);
    } catch (error) {
      // It is unknown whether the plant is stored.
      throw error instanceof RepositoryUnavailableError ? new ContractException(503) : error;
    } finally {
      // The listener still has the plant. A logger that throws rejects the notification.
      if (notification) notification.then(release, release);
      else release();
    }
  }

  /** Calls the listener in a later turn, so that it can neither change nor delay the answer. */
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
