import { channel } from 'node:diagnostics_channel';
import type { Outcome } from './plant-repository.js';

/** The diagnostics channel with one message for every stored batch. */
export const BATCH_CHANNEL = 'plant-store:batch';

/** A stored batch: the number of its plants with each outcome. A plant that the batch has twice counts twice. */
export interface BatchEvent extends Readonly<Record<Outcome, number>> {
  /** Number of plants: the sum of the three outcomes. */
  readonly size: number;
  /** Time until the batch was durable. */
  readonly seconds: number;
}

const batches = channel(BATCH_CHANNEL);

/** Publishes a stored batch to the metrics. */
export function publishBatch(outcomes: readonly Outcome[], seconds: number): void {
  if (!batches.hasSubscribers) return;
  const counts = { created: 0, repeated: 0, conflict: 0 };
  for (const outcome of outcomes) counts[outcome] += 1;
  batches.publish({ size: outcomes.length, seconds, ...counts } satisfies BatchEvent);
}
