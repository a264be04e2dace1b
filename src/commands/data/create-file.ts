import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { link, open, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { syncDirectory } from '../../files/durable-files.js';
import { CommandError } from '../../process/command-error.js';

/**
 * Creates a file atomically and durably from chunks; only its owner can read it. If a chunk fails, there is no file.
 *
 * @throws {CommandError} if the file exists already, which is left as it is
 */
export async function createFile(file: string, chunks: AsyncIterable<string>): Promise<void> {
  // Fails early: the link below decides, but only after all chunks are written.
  if (existsSync(file)) throw alreadyExists(file);
  const draft = `${file}.${randomUUID()}`;
  try {
    const handle = await open(draft, 'wx', 0o600);
    try {
      for await (const chunk of chunks) await handle.writeFile(chunk);
      await handle.sync();
    } finally {
      await handle.close();
    }
    // Unlike a rename, a link does not replace a file that another process has created.
    await link(draft, file);
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'EEXIST' ? alreadyExists(file) : error;
  } finally {
    await rm(draft, { force: true });
  }
  syncDirectory(dirname(resolve(file)));
}

function alreadyExists(file: string): CommandError {
  return new CommandError(`${file} already exists: name another file`);
}
