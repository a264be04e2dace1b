import { closeSync, existsSync, fsyncSync, lchownSync, lstatSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { succeeds } from './file-errors.js';

/**
 * Creates a directory, and those above it, durably. A directory that root creates gets the owner of the one above, because
 * the service could not use a directory of root.
 */
export function makeDirectory(path: string): void {
  const parent = dirname(path);
  if (existsSync(path)) return;
  // Calls itself, because with the option `recursive`, Node 20 to 26 never return from a path below /proc.
  if (parent !== path) makeDirectory(parent);
  const isNew = succeeds('EEXIST', () => mkdirSync(path));
  // Another process that has created the directory meanwhile syncs it.
  if (!isNew) return;
  takeOwnerOf(parent, path);
  syncDirectory(parent);
}

/**
 * Returns the directory, or the closest one above it that exists. A link that leads nowhere is returned, so that its use
 * fails.
 */
export function existingDirectory(path: string): string {
  const found = existsSync(path) || lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  return found ? path : existingDirectory(dirname(path));
}

/** Flushes a directory to disk, so that the names in it survive a power cut. Does nothing on Windows. */
export function syncDirectory(path: string): void {
  if (process.platform === 'win32') return;
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Gives a file or directory that root has created the owner of its directory. Does nothing for other users, nor where root
 * may not change owners, as in some containers.
 */
export function takeOwnerOf(directory: string, created: string): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(directory);
  // chown would follow a link, which the owner of the directory may have put in place of the file.
  succeeds('EPERM', () => lchownSync(created, uid, gid));
}
