import { randomUUID } from 'node:crypto';
import { linkSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncDirectory } from './sync-directory.js';
import { takeOwnerOf } from './take-owner.js';

/** Replaces a file atomically and durably; only its owner can read it. If root replaces it, the owner stays. */
export function replaceFile(file: string, text: string): void {
  writeDraft(file, text, (draft) => {
    takeOwnerOf(file, draft);
    renameSync(draft, file);
  });
}

/**
 * Creates a file atomically and durably; only its owner can read it.
 *
 * @param inheritOwner whether root gives it the owner of its directory
 * @returns false if the file exists already, which is left as it is
 */
export function createFile(file: string, text: string, { inheritOwner = false } = {}): boolean {
  return writeDraft(file, text, (draft) => {
    if (inheritOwner) takeOwnerOf(dirname(file), draft);
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

/** Writes the text to a new file in the same directory, which `publish` then gives its name. */
function writeDraft<Result>(file: string, text: string, publish: (draft: string) => Result): Result {
  const draft = `${file}.${randomUUID()}`;
  try {
    writeFileSync(draft, text, { mode: 0o600, flag: 'wx', flush: true });
    const result = publish(draft);
    syncDirectory(dirname(file));
    return result;
  } finally {
    rmSync(draft, { force: true });
  }
}
