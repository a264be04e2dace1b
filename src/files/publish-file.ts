import { randomUUID } from 'node:crypto';
import { existsSync, linkSync, lstatSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { existingDirectory, makeDirectory, syncDirectory } from './directories.js';
import { alreadyExists, explainWriteError } from './file-errors.js';

interface PublishOptions {
  /** Endings of files that a program keeps beside the target, or leaves beside the draft. */
  readonly companions?: readonly string[];
  /** True to create the directory of the target if it is missing. */
  readonly createsDirectory?: boolean;
  /** Advice for the operator if the target, or a companion of it, exists. */
  readonly ifExists?: string;
}

/**
 * Creates a file that appears complete and durable, or not at all: `write` writes a draft, which gets the name of the file
 * once the draft is on disk.
 *
 * @param write creates the draft
 * @throws {OperatorError} if the file or a companion of it exists, which is left as it is, or if the file cannot be written
 * @throws any other error of `write`
 */
export async function publishFile<Result>(
  target: string,
  write: (draft: string) => Promise<Result>,
  options: PublishOptions = {},
): Promise<Result> {
  try {
    return await publish(target, write, options);
  } catch (error) {
    throw explainWriteError(target, error);
  }
}

async function publish<Result>(
  target: string,
  write: (draft: string) => Promise<Result>,
  { companions = [], createsDirectory = false, ifExists }: PublishOptions,
): Promise<Result> {
  const endings = ['', ...companions];
  const assertFree = (): void => {
    for (const file of endings.map((ending) => target + ending)) if (isTaken(file)) throw alreadyExists(file, ifExists);
  };
  // Checked before the draft is written, too, which may take minutes.
  assertFree();
  const directory = dirname(resolve(target));
  const draft = join(
    createsDirectory ? existingDirectory(directory) : directory,
    `${basename(target)}.${randomUUID()}`,
  );
  const drafts = endings.map((ending) => draft + ending);
  const result = await removingAfterwards(drafts, async () => {
    const written = await write(draft);
    await sync(draft);
    // Made last, so that a draft that fails leaves no directory.
    if (createsDirectory) makeDirectory(directory);
    assertFree();
    // Unlike a rename, a link does not replace a file that another process has created.
    linkSync(draft, target);
    return written;
  });
  try {
    syncDirectory(directory);
  } catch (error) {
    rmSync(target);
    throw error;
  }
  return result;
}

/** Does the work, and then removes the files that are there. */
async function removingAfterwards<Result>(files: readonly string[], work: () => Promise<Result>): Promise<Result> {
  const remove = (): void => {
    // rmSync refuses a name that is too long, even with `force`.
    for (const file of files) if (existsSync(file)) rmSync(file);
  };
  // If a signal ends the program, `finally` does not run.
  process.once('exit', remove);
  try {
    return await work();
  } finally {
    remove();
    process.off('exit', remove);
  }
}

/** Flushes a file to disk. It is asynchronous, so that a signal can arrive while the disk is busy. */
async function sync(file: string): Promise<void> {
  const handle = await open(file, 'r+');
  await handle.sync().finally(() => handle.close());
}

/** Returns true for a link that leads nowhere, too. */
function isTaken(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false }) !== undefined;
}
