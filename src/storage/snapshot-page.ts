import { messageOf } from './message-of.js';
import { RepositoryUnavailableError } from './plant-repository.js';

export const MIN_ID = -(2n ** 63n);
export const MAX_ID = 2n ** 63n - 1n;

/** Maximum number of plants of a page of a snapshot. */
export const PAGE_PLANTS = 4_096;

/** Length of the texts with which a page is full. */
export const PAGE_LENGTH = 1_048_576;

/** Returns the error of a snapshot that cannot be taken or read. */
export function unreadable(error: unknown): RepositoryUnavailableError {
  return new RepositoryUnavailableError(`the database cannot be read: ${messageOf(error)}`, { cause: error });
}
