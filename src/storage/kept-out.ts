import type { Outcome } from './plant-repository.js';

/** The outcome of each plant of a batch, which is stored; undefined for plants that the table keeps out. */
type Outcomes = readonly (Outcome | undefined)[];

/** The table has no plants with some ids, and does not take those that have them: a defect, of these plants alone. */
export class PlantsKeptOutError extends Error {
  override readonly name = 'PlantsKeptOutError';

  constructor(readonly outcomes: Outcomes) {
    super('the table plants does not take a plant, although its id is free: look at the triggers of the table');
  }
}

/** @throws {PlantsKeptOutError} when a plant has no outcome */
export function requireOutcomes(outcomes: Outcomes): readonly Outcome[] {
  if (outcomes.every((outcome) => outcome !== undefined)) return outcomes;
  throw new PlantsKeptOutError(outcomes);
}
