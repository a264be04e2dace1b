import { randomUUID } from 'node:crypto';
import {
  closeSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { makeDirectory, syncDirectory, takeOwnerOf } from './directories.js';
import { succeeds } from './file-errors.js';

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
