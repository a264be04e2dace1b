import { Injectable } from '@nestjs/common';
import { PlantRepository } from '../storage/plant-repository.js';

/** Knows how many plants are stored. A scrape does not wait for the store, which may take long to count or be down. */
@Injectable()
export class StoredPlants {
  #count: number | undefined;
  #isCounting = false;

  constructor(private readonly repository: PlantRepository) {}

  /** Returns the number that the store had last, and asks it again; undefined as long as the store does not tell. */
  get count(): number | undefined {
    if (!this.#isCounting) void this.#update();
    return this.#count;
  }

  async #update(): Promise<void> {
    this.#isCounting = true;
    try {
      this.#count = await this.repository.count();
    } catch {
      // The log and the other metrics show that the store is down.
      this.#count = undefined;
    } finally {
      this.#isCounting = false;
    }
  }
}
