import { unwatchFile, watchFile } from 'node:fs';

/** Milliseconds between two polls. */
const POLL_INTERVAL = 100;

/** Milliseconds after a change, so that a program that writes line by line, or several files, has finished. */
const WRITE_TIME = 400;

/**
 * Calls `changed` when any of the files has been replaced or written, and once after the start, because a file may have
 * changed between being read and being watched. Polling also works on network file systems, and on symbolic links that
 * change in a directory above, as those of Kubernetes secrets do; `fs.watch` sees neither.
 *
 * @param changed must not throw: the error would end the process
 * @returns a function that stops watching
 */
export function watchFiles(files: readonly string[], changed: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  const call = (): void => {
    timer = undefined;
    changed();
  };
  const seeChange = (): void => {
    timer ??= setTimeout(call, WRITE_TIME).unref();
  };
  seeChange();
  for (const file of files) watchFile(file, { interval: POLL_INTERVAL, persistent: false }, seeChange);
  return () => {
    clearTimeout(timer);
    for (const file of files) unwatchFile(file, seeChange);
  };
}
