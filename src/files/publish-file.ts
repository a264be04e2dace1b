import { randomUUID } from 'node:crypto';
import { existsSync, linkSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { syncDirectory } from './directories.js';

interface PublishOptions {
  /** The directory of the draft, on the file system of the target. Defaults to the target's directory. */
  readonly directory?: string;
  /** Endings of files that may be left beside the draft. */
  readonly companions?: readonly string[];
}

/**
 * Creates a file that appears complete and durable, or not at all: `write` writes a draft, which gets the name of the file
 * once the draft is on disk.
 *
 * @param write creates the draft
 * @throws what `write` throws; an error of the system with the code EEXIST when the target exists, which is left as it is
 */
export async function publishFile<Result>(
  target: string,
  write: (draft: string) => Promise<Result>,
  { directory = dirname(resolve(target)), companions = [] }: PublishOptions = {},
): Promise<Result> {
  const draft = join(directory, `${basename(target)}.${randomUUID()}`);
  const removeDraft = (): void => {
    // rmSync refuses a name that is too long, even with `force`.
    for (const file of ['', ...companions].map((ending) => draft + ending)) if (existsSync(file)) rmSync(file);
  };
  // If a signal ends the program, `finally` does not run.
  process.once('exit', removeDraft);
  let result: Result;
  try {
    result = await write(draft);
    // Asynchronous, so that a signal can arrive while the disk is busy.
    const handle = await open(draft, 'r+');
    await handle.sync().finally(() => handle.close());
    // Unlike a rename, a link does not replace a file that another process has created.
    linkSync(draft, target);
  } finally {
    removeDraft();
    process.off('exit', removeDraft);
  }
  try {
    syncDirectory(dirname(resolve(target)));
  } catch (error) {
    rmSync(target);
    throw error;
  }
  return result;
}
