import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, linkSync, openSync, renameSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncDirectory } from './durable-files.js';
import { alreadyExists, explainWriteError } from './file-errors.js';

/**
 * Creates a file that appears complete and durable, or not at all: `write` writes a draft, which gets the name of the
 * file once the draft is on disk.
 *
 * @throws {OperatorError} if the file exists, which is left as it is, or cannot be written
 * @throws any other error of `write`
 */
export async function publishFile<Result>(target: string, write: (draft: string) => Promise<Result>): Promise<Result> {
  const draft = `${target}.${randomUUID()}`;
  const removeDraft = (): void => {
    // With `force`, rmSync still throws ENOTDIR for a target below a file.
    if (existsSync(draft)) rmSync(draft);
  };
  // If a signal ends the program, `finally` does not run.
  process.once('exit', removeDraft);
  try {
    // Checked before the draft is written, too, which may take minutes.
    if (existsSync(target)) throw alreadyExists(target);
    const result = await write(draft);
    await sync(draft);
    giveName(draft, target);
    syncDirectory(dirname(target));
    return result;
  } catch (error) {
    throw explainWriteError(target, error);
  } finally {
    removeDraft();
    process.off('exit', removeDraft);
  }
}

/** Flushes a file to disk. A signal can end the program meanwhile, because a slow disk may take minutes. */
async function sync(file: string): Promise<void> {
  const handle = await open(file, 'r+');
  await handle.sync().finally(() => handle.close());
}

/** Gives a draft its name, unless another process has created a file with this name meanwhile. */
function giveName(draft: string, target: string): void {
  try {
    // Unlike a rename, a link does not replace a file.
    linkSync(draft, target);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw error;
    // The file system of a USB stick or an SMB share may have no links. An empty file takes the name first.
    closeSync(openSync(target, 'wx'));
    renameSync(draft, target);
  }
}
