import { randomUUID } from 'node:crypto';
import {
  closeSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { syncDirectory } from './sync-directory.js';
import { takeOwnerOf } from './take-owner.js';

/** Replaces a file atomically and durably. The new one has its group, which may read it if it could, and root keeps its owner. */
export function replaceFile(file: string, text: string): void {
  const draft = `${file}.${randomUUID()}`;
  const descriptor = openSync(draft, 'wx', 0o600);
  try {
    takeOwnerOf(file, descriptor);
    keepGroup(file, descriptor);
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

/** Does nothing if this user may not give the file its group. */
function keepGroup(model: string, descriptor: number): void {
  const { gid, mode } = statSync(model);
  try {
    // -1 leaves the owner as it is.
    fchownSync(descriptor, -1, gid);
    fchmodSync(descriptor, 0o600 | (mode & 0o040));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error;
  }
}
