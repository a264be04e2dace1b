import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncDirectory } from './sync-directory.js';
import { takeOwnerOf } from './take-owner.js';

/**
 * Creates a directory that survives a power cut: its name is on disk once its parent is. If root creates it, it gets
 * the owner of the directory above.
 */
export function makeDirectory(path: string): void {
  const parent = dirname(path);
  if (existsSync(path)) return;
  // One at a time: with the option `recursive`, Node 20 to 26 never return from a path below /proc.
  if (parent !== path) makeDirectory(parent);
  try {
    mkdirSync(path);
  } catch (error) {
    // Another process has created it.
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return;
    throw error;
  }
  takeOwnerOf(parent, path);
  syncDirectory(parent);
}
