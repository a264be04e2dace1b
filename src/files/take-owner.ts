import { fchownSync, lchownSync, statSync } from 'node:fs';

/**
 * Gives a new file or directory of root the owner of another one: a service could not use root's own files. Does
 * nothing for other users, nor where root may not change owners, as in some containers.
 *
 * @param model the path whose owner it gets
 * @param created the path of the new one, or its descriptor
 */
export function takeOwnerOf(model: string, created: string | number): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(model);
  try {
    if (typeof created === 'number') fchownSync(created, uid, gid);
    // The other user, who may write there, could have replaced it by a link to a file of root.
    else lchownSync(created, uid, gid);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error;
  }
}
