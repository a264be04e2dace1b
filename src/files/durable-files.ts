import { randomUUID } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  lchownSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';

/**
 * Creates a directory, and those above it, durably. If root creates it, it gets the owner of the directory above: a
 * service could not use root's own.
 */
export function makeDirectory(path: string): void {
  const parent = dirname(path);
  if (existsSync(path)) return;
  // One at a time: with the option `recursive`, Node 20 to 26 never return from a path below /proc.
  if (parent !== path) makeDirectory(parent);
  // Otherwise another process has created it.
  if (!succeeds('EEXIST', () => mkdirSync(path))) return;
  takeOwnerOf(parent, path);
  syncDirectory(parent);
}

/**
 * Creates an empty file durably, and its directory; only its owner can read it. If root creates it, it gets the owner
 * of its directory.
 *
 * @returns false if the file exists already, which is left as it is
 */
export function createEmptyFile(path: string): boolean {
  const directory = dirname(path);
  makeDirectory(directory);
  const isNew = succeeds('EEXIST', () => {
    const descriptor = openSync(path, 'wx', 0o600);
    try {
      takeOwnerOf(directory, descriptor);
    } finally {
      closeSync(descriptor);
    }
  });
  if (isNew) syncDirectory(directory);
  return isNew;
}

/** Replaces a file atomically and durably. The new one has its group, which may read it if it could, and root keeps its owner. */
export function replaceFile(file: string, text: string): void {
  const draft = `${file}.${randomUUID()}`;
  const descriptor = openSync(draft, 'wx', 0o600);
  try {
    const { gid, mode } = statSync(file);
    takeOwnerOf(file, descriptor);
    // -1 leaves the owner as it is.
    const hasGroup = succeeds('EPERM', () => fchownSync(descriptor, -1, gid));
    if (hasGroup) fchmodSync(descriptor, 0o600 | (mode & 0o040));
    writeFileSync(descriptor, text);
    fsyncSync(descriptor);
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
  syncDirectory(dirname(file));
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
 * Gives what root has created the owner of another file. Does nothing for other users, nor where root may not change
 * owners, as in some containers.
 *
 * @param created a path, or the descriptor of a file
 */
export function takeOwnerOf(model: string, created: string | number): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(model);
  succeeds('EPERM', () => {
    if (typeof created === 'number') fchownSync(created, uid, gid);
    // The other user, who may write there, could have replaced it by a link to a file of root.
    else lchownSync(created, uid, gid);
  });
}

/** Returns false if the call fails with this code. */
function succeeds(code: 'EEXIST' | 'EPERM', call: () => void): boolean {
  try {
    call();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== code) throw error;
    return false;
  }
}
