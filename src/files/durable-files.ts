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
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';

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

/**
 * Creates a file durably, and its directory. Only the owner can read the file. A file that root creates gets the owner of
 * its directory.
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

/** Writes a file that must be new. If that fails, for example on a full disk, there is no file. */
function writeNewFile(path: string, text: string): void {
  // Appends, because another process may append to the file before this one has written the text.
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

/**
 * Appends a text to a file durably. If that fails, for example on a full disk, the file stays as it was, unless another
 * process has appended to it, too.
 */
export function appendToFile(file: string, text: string): void {
  const descriptor = openSync(file, 'a');
  const { size } = fstatSync(descriptor);
  try {
    writeFileSync(descriptor, text);
    fsyncSync(descriptor);
  } catch (error) {
    // Another process may have appended to the file meanwhile.
    const appended = readFileSync(file, 'latin1').slice(size);
    if (Buffer.from(text).toString('latin1').startsWith(appended)) ftruncateSync(descriptor, size);
    throw error;
  } finally {
    closeSync(descriptor);
  }
}

/** Replaces a file atomically and durably. The new file gets the old permissions and, from root, the old owner and group. */
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
  // Windows flushes only a file that is open for writing.
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
 * Gives a file or directory that root has created the owner of its directory. Does nothing for other users, nor where root
 * may not change owners, as in some containers.
 */
export function takeOwnerOf(directory: string, created: string): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(directory);
  // chown would follow a link, which the owner of the directory may have put in place of the file.
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
