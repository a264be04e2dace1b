import { inspect } from 'node:util';
import { Logger } from '@nestjs/common';
import type { Principal } from '../auth/principal.js';
import type { NewPlantDto } from './dto/new-plant.dto.js';

/** A function of the host; `principal` is undefined if the host authenticates. */
export type PlantCreatedListener = (plant: Readonly<NewPlantDto>, principal: Principal | undefined) => unknown;

/** Tells the host of created plants. Its listener can neither change nor delay an answer. */
export class PlantCreatedHook {
  readonly #logger = new Logger('PlantStore');

  constructor(private readonly listener: PlantCreatedListener | undefined) {}

  /** Calls the listener after the answer was written, and `onEnd` when the call has ended. */
  notify(plant: Readonly<NewPlantDto>, principal: Principal | undefined, onEnd: () => void): void {
    const { listener } = this;
    if (listener === undefined) {
      onEnd();
      return;
    }
    void new Promise(setImmediate)
      .then(() => listener(plant, principal))
      .catch((error: unknown) => {
        const stack = error instanceof Error ? error.stack : inspect(error);
        this.#logger.error(`onPlantCreated failed for the plant ${plant.id}`, stack);
      })
      .finally(onEnd);
  }
}
