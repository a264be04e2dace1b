import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { link, open, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { syncDirectory } from './sync-directory.js';

/** There is a file of this name; the message is one line for the operator. */
export class FileExistsError extends Error {
  override readonly name = 'FileExistsError';

  constructor(file: string) {
    super(`${file} already exists: name another file`);
  }
}

/**
 * Creates a file atomically and durably from chunks; only its owner can read it. If a chunk fails, there is no file.
 *
 * @throws {FileExistsError} if the file exists already, which is left as it is
 */
export async function createLargeFile(file: string, chunks: AsyncIterable<string>): Promise<void> {
  // Fails early: the link below decides, but only after all chunks are written.
  if (existsSync(file)) throw new FileExistsError(file);
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
    await link(draft, file).catch((error: unknown) => {
      throw error instanceof Error && 'code' in error && error.code === 'EEXIST' ? new FileExistsError(file) : error;
    });
  } finally {
    await rm(draft, { force: true });
  }
  syncDirectory(dirname(resolve(file)));
}
