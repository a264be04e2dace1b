import { setImmediate } from 'node:timers/promises';
import { Inject, Injectable, Logger } from '@nestjs/common';
import type { Principal } from '../auth/token-verifier.js';
import { ContractException } from '../contract/contract.exception.js';
import { GroupCommit } from '../storage/group-commit.js';
import {
  lengthOf,
  PlantRepository,
  type PlantSnapshot,
  RepositoryUnavailableError,
} from '../storage/plant-repository.js';
import { Admission, type AdmittedPlant, type Place } from './admission.js';
import { type NewPlantDto, type PlantDto, toNewPlant, toPlant } from './dto/plant.dto.js';
import { CHECKED_OPTIONS, type PlantCreatedListener, type PlantsModuleOptions } from './plants.module-definition.js';

/** Bytes that a plant occupies besides its texts. */
const PLANT_COST = 512;

/** Returns the bytes that a plant occupies. */
function costOf(plant: Readonly<NewPlantDto>): number {
  // A UTF-16 unit occupies up to two bytes.
  return PLANT_COST + 2 * lengthOf(plant);
}

@Injectable()
export class PlantsService {
  readonly #logger = new Logger('PlantStore');

  constructor(
    private readonly repository: PlantRepository,
    private readonly groupCommit: GroupCommit,
    private readonly admission: Admission,
    @Inject(CHECKED_OPTIONS) private readonly options: Pick<PlantsModuleOptions, 'onPlantCreated'>,
  ) {}

  /**
   * Creates a plant for the host, and resolves when it is durable. The id is the client's, and therefore the idempotency
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
    return this.#create(toNewPlant(newPlant), options?.principal);
  }

  /**
   * Creates the plant of a request, which the pipes of the route have checked.
   *
   * @param principal undefined if the host authenticates
   * @throws {ContractException} 409 or 503, as `create`
   */
  createFromRequest({ plant, place }: AdmittedPlant, principal: Principal | undefined): Promise<PlantDto> {
    return this.#create(plant, principal, place);
  }

  /**
   * Takes a snapshot of the plants, to count, find or read them. Close it afterwards.
   *
   * @throws {RepositoryUnavailableError} when the store cannot be read now, and always for a database in memory
   * @throws {Error} if the repository is one of the host without this method
   */
  async snapshot(): Promise<PlantSnapshot> {
    if (this.repository.snapshot === undefined) throw new Error('The repository has no method snapshot');
    return this.repository.snapshot();
  }

  /** @param requestPlace undefined for a call of the host */
  async #create(plant: NewPlantDto, principal: Principal | undefined, requestPlace?: Place): Promise<PlantDto> {
    const place = this.admission.admitPlant(costOf(plant), requestPlace);
    let notified: Promise<void> | undefined;
    try {
      const outcome = await this.groupCommit.add(plant);
      if (outcome === 'conflict') throw new ContractException(409);
      const { onPlantCreated } = this.options;
      if (outcome === 'created' && onPlantCreated) notified = this.#notify(onPlantCreated, plant, principal);
      return toPlant(plant);
    } catch (error) {
      if (error instanceof RepositoryUnavailableError) throw new ContractException(503);
      throw error;
    } finally {
      if (notified === undefined) this.admission.releasePlant(place);
      // The listener still has the plant.
      else void notified.finally(() => this.admission.releasePlant(place));
    }
  }

  /** Calls the listener after the answer was written: it can neither change nor delay the answer. Never rejects. */
  async #notify(listener: PlantCreatedListener, ...created: Parameters<PlantCreatedListener>): Promise<void> {
    await setImmediate();
    try {
      await listener(...created);
    } catch (error) {
      const [{ id }] = created;
      this.#logger.error(`onPlantCreated failed for the plant ${id}`, error instanceof Error ? error.stack : error);
    }
  }
}
