import { closeSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeDirectory } from './make-directory.js';
import { syncDirectory } from './sync-directory.js';
import { takeOwnerOf } from './take-owner.js';

/**
 * Creates an empty file durably, and its directory; only its owner can read it. If root creates it, it gets the owner
 * of its directory.
 *
 * @returns false if the file exists already, which is left as it is
 */
export function createEmptyFile(path: string): boolean {
  const directory = dirname(path);
  makeDirectory(directory);
  let descriptor: number;
  try {
    descriptor = openSync(path, 'wx', 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
  try {
    takeOwnerOf(directory, descriptor);
  } finally {
    closeSync(descriptor);
  }
  syncDirectory(directory);
  return true;
}
