import { chownSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncDirectory } from './sync-directory.js';

/**
 * Creates a directory that survives a power cut: its name is on disk once its parent is.
 *
 * @param asParent whether root gives it the owner of the directory above
 */
export function makeDirectory(path: string, { asParent = false } = {}): void {
  const first = mkdirSync(path, { recursive: true });
  if (first === undefined) return;
  const parent = dirname(first);
  for (let made = path; made !== parent; made = dirname(made)) {
    if (asParent) takeOwnerOf(parent, made);
    syncDirectory(dirname(made));
  }
}

/** Gives a file the owner of a directory if the user is root: root's own files could not be used by a service. */
export function takeOwnerOf(directory: string, file: string): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(directory);
  chownSync(file, uid, gid);
}
