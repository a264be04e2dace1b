import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncDirectory } from './sync-directory.js';
import { takeOwnerOf } from './take-owner.js';

/**
 * Creates a directory that survives a power cut: its name is on disk once its parent is.
 *
 * @param inheritOwner whether root gives it the owner of the directory above
 */
export function makeDirectory(path: string, { inheritOwner = false } = {}): void {
  const first = mkdirSync(path, { recursive: true });
  if (first === undefined) return;
  const parent = dirname(first);
  for (let made = path; made !== parent; made = dirname(made)) {
    if (inheritOwner) takeOwnerOf(parent, made);
    syncDirectory(dirname(made));
  }
}
