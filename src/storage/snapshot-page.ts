import { messageOf } from './message-of.js';
import { RepositoryUnavailableError, type StoredPlant } from './plant-repository.js';

export const MIN_ID = -(2n ** 63n);
export const MAX_ID = 2n ** 63n - 1n;

/** Maximum number of plants of a page of a snapshot. */
export const PAGE_PLANTS = 4_096;

/** Length of the texts with which a page is full. */
export const PAGE_LENGTH = 1_048_576;

/** The columns id, name and tag. */
export type PlantRow = readonly [id: bigint, name: string, tag: string | null];

export function plantOf([id, name, tag]: PlantRow): StoredPlant {
  return { id, name, tag: tag ?? undefined };
}

/** The columns of a page as arrays of JSON: the drivers take three times as long to read a row for each plant. */
export type PageRow = readonly [ids: string, names: string, tags: string];

/** Returns the plants of a page. A number of JSON.parse cannot hold an int64. */
export function plantsOf([ids, names, tags]: PageRow): StoredPlant[] {
  const [nameList, tagList] = [JSON.parse(names), JSON.parse(tags)] as [string[], (string | null)[]];
  return (ids.match(/-?\d+/g) ?? []).map((id, index) =>
    plantOf([BigInt(id), nameList[index] ?? '', tagList[index] ?? null]),
  );
}

/** Returns the error of a snapshot that cannot be taken or read. */
export function unreadable(error: unknown): RepositoryUnavailableError {
  return new RepositoryUnavailableError(`the database cannot be read: ${messageOf(error)}`, { cause: error });
}
