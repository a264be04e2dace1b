import { closeSync, constants, fchownSync, fstatSync, openSync, statSync } from 'node:fs';

/**
 * Gives a new file or directory of root the owner of another one: a service could not use root's own files. Does
 * nothing for other users, nor where root may not change owners, as in some containers.
 *
 * @param model the path whose owner it gets
 * @param created the path of the new one, or its descriptor
 */
export function takeOwnerOf(model: string, created: string | number): void {
  if (process.getuid?.() !== 0) return;
  if (typeof created === 'number') {
    changeOwner(statSync(model), created);
    return;
  }
  // The other user, who may write there, could have replaced it by a link to a file of root.
  const descriptor = openSync(created, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    changeOwner(statSync(model), descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function changeOwner({ uid, gid }: { readonly uid: number; readonly gid: number }, descriptor: number): void {
  const own = fstatSync(descriptor);
  if (own.uid === uid && own.gid === gid) return;
  try {
    fchownSync(descriptor, uid, gid);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error;
  }
}
