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
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';

/** Creates a directory, and those above it, durably. */
export function makeDirectory(path: string): void {
  if (existsSync(path)) return;
  const parent = dirname(path);
  makeDirectory(parent);
  // With `recursive`, another process may have created it meanwhile.
  mkdirSync(path, { recursive: true });
  takeOwnerOf(parent, path);
  syncDirectory(parent);
}

/**
 * Creates a file durably. Only its owner can read it.
 *
 * @returns false if the file exists already, which is left as it is
 */
export function createFile(path: string, text = ''): boolean {
  try {
    // Appends, because another process may append to the file before this one has written the text.
    change(path, 'ax', (descriptor) => writeFileSync(descriptor, text));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    // On a full disk, there is a part of the file.
    rmSync(path, { force: true });
    throw error;
  }
  takeOwnerOf(dirname(path), path);
  syncDirectory(dirname(path));
  return true;
}

/** Appends a text to a file durably. If that fails, for example on a full disk, the file stays as it was. */
export function appendToFile(file: string, text: string): void {
  change(file, 'a', (descriptor) => {
    const { size } = fstatSync(descriptor);
    try {
      writeFileSync(descriptor, text);
    } catch (error) {
      ftruncateSync(descriptor, size);
      throw error;
    }
  });
}

/**
 * Replaces a file atomically and durably. The new file gets the old permissions and, from root, the old owner and
 * group.
 */
export function replaceFile(file: string, text: string): void {
  const draft = `${file}.${randomUUID()}`;
  const { uid, gid, mode } = statSync(file);
  try {
    change(draft, 'wx', (descriptor) => {
      if (process.getuid?.() === 0) fchownSync(descriptor, uid, gid);
      fchmodSync(descriptor, mode);
      writeFileSync(descriptor, text);
    });
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
  syncDirectory(dirname(file));
}

/** Flushes a directory to disk, so that the names in it survive a power cut. Windows cannot do so. */
export function syncDirectory(path: string): void {
  if (process.platform !== 'win32') change(path, 'r', () => undefined);
}

/** Opens a file for work, and flushes it to disk. */
function change(path: string, flags: string, work: (descriptor: number) => void): void {
  const descriptor = openSync(path, flags, 0o600);
  try {
    work(descriptor);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Gives what root has created the owner of its directory: the guide lets root run `plant-store token create` and
 * `restore` for a service that has a user of its own.
 */
function takeOwnerOf(directory: string, created: string): void {
  const { uid, gid } = statSync(directory);
  // chown would follow a link, which the owner of the directory may have put in place of the file.
  if (process.getuid?.() === 0 && uid !== 0) lchownSync(created, uid, gid);
}
