import { stat } from 'node:fs/promises';

/** Milliseconds between two polls. */
const POLL_INTERVAL = 200;

/**
 * Calls `changed` when any of the files has been replaced or written, and once after the start, because a file may have
 * changed between being read and being watched.
 *
 * A change counts when two polls in a row find the same state: a program that writes line by line, or that replaces
 * several files, has finished by then. Polling also works on network file systems, and on symbolic links that change
 * in a directory above, as those of Kubernetes secrets do; `fs.watch` sees neither.
 *
 * @param changed must not throw: the error would end the process
 * @returns a function that stops watching
 */
export function watchFiles(files: readonly string[], changed: () => void): () => void {
  let seen: string | undefined;
  let reported: string | undefined;
  let stopped = false;
  const look = async (): Promise<void> => {
    const state = (await Promise.all(files.map(describeState))).join('\n');
    if (stopped) return;
    if (state === seen && state !== reported) {
      reported = state;
      changed();
    }
    seen = state;
    timer = setTimeout(() => void look(), POLL_INTERVAL).unref();
  };
  let timer = setTimeout(() => void look(), 0).unref();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}

/** Returns a text that differs if the file is another one, has been written, or cannot be found. */
async function describeState(file: string): Promise<string> {
  try {
    const { dev, ino, size, mode, mtimeMs, ctimeMs } = await stat(file);
    return [dev, ino, size, mode, mtimeMs, ctimeMs].join();
  } catch {
    return 'missing';
  }
}
