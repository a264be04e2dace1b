import { randomUUID } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  lchownSync,
  lstatSync,
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
  const isNew = succeeds('EEXIST', () => mkdirSync(path));
  // Another process has created it meanwhile, and syncs it.
  if (!isNew) return;
  takeOwnerOf(parent, path);
  syncDirectory(parent);
}

/**
 * Returns the directory, or the one above it in which `makeDirectory` would create the first one. A link that leads nowhere
 * is neither: it is returned, so that its use fails.
 */
export function existingDirectory(path: string): string {
  const found = existsSync(path) || lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  return found ? path : existingDirectory(dirname(path));
}

/**
 * Creates a file durably, and its directory; only its owner can read it. If root creates it, it gets the owner of its
 * directory.
 *
 * @returns false if the file exists already, which is left as it is
 */
export function createFileAndDirectory(path: string, text = ''): boolean {
  const directory = dirname(path);
  makeDirectory(directory);
  const isNew = succeeds('EEXIST', () => writeNewFile(path, text));
  if (isNew) {
    takeOwnerOf(directory, path);
    syncDirectory(directory);
  }
  return isNew;
}

/** Writes a file that must be new. If its disk is full, for example, it leaves none. */
function writeNewFile(path: string, text: string): void {
  // Appends, because another process may see the file, and append to it, before this one has written the text.
  const descriptor = openSync(path, 'ax', 0o600);
  try {
    writeFileSync(descriptor, text);
    fsyncSync(descriptor);
  } catch (error) {
    rmSync(path);
    throw error;
  } finally {
    closeSync(descriptor);
  }
}

/** Appends a text to a file durably. If its disk is full, for example, it appends no part of the text. */
export function appendToFile(file: string, text: string): void {
  const descriptor = openSync(file, 'a');
  const { size } = fstatSync(descriptor);
  try {
    writeFileSync(descriptor, text);
    fsyncSync(descriptor);
  } catch (error) {
    ftruncateSync(descriptor, size);
    throw error;
  } finally {
    closeSync(descriptor);
  }
}

/** Replaces a file atomically and durably. The new one has its permissions and, if root replaces it, its owner and group. */
export function replaceFile(file: string, text: string): void {
  const draft = `${file}.${randomUUID()}`;
  const descriptor = openSync(draft, 'wx', 0o600);
  try {
    const { uid, gid, mode } = statSync(file);
    if (process.getuid?.() === 0) fchownSync(descriptor, uid, gid);
    fchmodSync(descriptor, mode);
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

/** Flushes a file to disk, with its name. */
export function syncFile(path: string): void {
  // Windows flushes only what may be written.
  const descriptor = openSync(path, 'r+');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  syncDirectory(dirname(path));
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
 * Gives what root has created the owner of its directory. Does nothing for other users, nor where root may not change
 * owners, as in some containers.
 */
export function takeOwnerOf(directory: string, created: string): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(directory);
  // Not chown: the owner of the directory could have replaced the file by a link to one of root's.
  succeeds('EPERM', () => lchownSync(created, uid, gid));
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
