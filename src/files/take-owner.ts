import { chownSync, statSync } from 'node:fs';

/** Gives a file the owner of another one if the user is root: a service could not use root's own files. */
export function takeOwnerOf(model: string, file: string): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(model);
  chownSync(file, uid, gid);
}
