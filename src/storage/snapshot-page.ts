import type { StoredPlant } from './plant-repository.js';

export const MIN_ID = -(2n ** 63n);
export const MAX_ID = 2n ** 63n - 1n;

/** Maximum number of plants of a page of a snapshot. */
export const PAGE_PLANTS = 2_048;

/** Length of the texts with which a page is full. */
export const PAGE_LENGTH = 1_048_576;

/** The columns id, name and tag. */
export type PlantRow = readonly [id: bigint, name: string, tag: string | null];

export function plantOf([id, name, tag]: PlantRow): StoredPlant {
  return { id, name, tag: tag ?? undefined };
}
