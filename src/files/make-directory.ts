import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncDirectory } from './sync-directory.js';
import { takeOwnerOf } from './take-owner.js';

/**
 * Creates a directory that survives a power cut: its name is on disk once its parent is. If root creates it, it gets
 * the owner of the directory above.
 */
export function makeDirectory(path: string): void {
  const first = mkdirSync(path, { recursive: true });
  if (first === undefined) return;
  const parent = dirname(first);
  for (let made = path; made !== parent; made = dirname(made)) {
    takeOwnerOf(parent, made);
    syncDirectory(dirname(made));
  }
}
