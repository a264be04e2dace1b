import { randomUUID } from 'node:crypto';
import {
  closeSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { syncDirectory } from './sync-directory.js';
import { takeOwnerOf } from './take-owner.js';

/**
 * Replaces a file atomically and durably. Only its owner can read it, and its group if it could before. If root replaces
 * it, the owner stays.
 */
export function replaceFile(file: string, text: string): void {
  writeDraft(file, text, file, (draft) => renameSync(draft, file));
}

/**
 * Creates a file atomically and durably; only its owner can read it. If root creates it, it gets the owner of its
 * directory.
 *
 * @returns false if the file exists already, which is left as it is
 */
export function createFile(file: string, text: string): boolean {
  return writeDraft(file, text, dirname(file), (draft) => {
    try {
      // Unlike a rename, a link does not replace a file that another process has created.
      linkSync(draft, file);
      return true;
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
      throw error;
    }
  });
}

/**
 * Writes the text to a new file in the same directory, with the owner of `model`; `publish` then gives it its name.
 * A successor of the file keeps its group.
 */
function writeDraft<Result>(file: string, text: string, model: string, publish: (draft: string) => Result): Result {
  const draft = `${file}.${randomUUID()}`;
  const descriptor = openSync(draft, 'wx', 0o600);
  try {
    try {
      takeOwnerOf(model, descriptor);
      if (model === file) keepGroup(file, descriptor);
      writeFileSync(descriptor, text);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    const result = publish(draft);
    syncDirectory(dirname(file));
    return result;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Lets the group of a file read the draft of its successor, too. Does nothing if this user may not give it the group. */
function keepGroup(file: string, descriptor: number): void {
  const { gid, mode } = statSync(file);
  try {
    fchownSync(descriptor, fstatSync(descriptor).uid, gid);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EPERM') return;
    throw error;
  }
  fchmodSync(descriptor, 0o600 | (mode & 0o040));
}
