import { randomUUID } from 'node:crypto';
import { closeSync, fsyncSync, linkSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncDirectory } from './sync-directory.js';
import { takeOwnerOf } from './take-owner.js';

/** Replaces a file atomically and durably; only its owner can read it. If root replaces it, the owner stays. */
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

/** Writes the text to a new file in the same directory, with the owner of `model`; `publish` then gives it its name. */
function writeDraft<Result>(file: string, text: string, model: string, publish: (draft: string) => Result): Result {
  const draft = `${file}.${randomUUID()}`;
  const descriptor = openSync(draft, 'wx', 0o600);
  try {
    try {
      takeOwnerOf(model, descriptor);
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
