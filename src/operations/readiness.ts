import type { PlantRepository } from '../storage/plant-repository.js';

/** What decides whether requests are to be sent to the service. */
export class Readiness {
  isShuttingDown = false;

  constructor(readonly repository: PlantRepository) {}
}
