import { unwatchFile, watchFile } from 'node:fs';

/** Milliseconds between two polls. */
const POLL_INTERVAL = 100;

/** Milliseconds without a further change, so that a program that writes line by line, or several files, has finished. */
const QUIET_TIME = 200;

/** Milliseconds of changes after which the quiet time ends in any case: some files are rewritten again and again. */
const LONGEST_CHANGE = 500;

/**
 * Calls `changed` when any of the files has been replaced or written, and once after the start, because a file may have
 * changed between being read and being watched. Polling also works on network file systems, and on symbolic links that
 * change in a directory above, as those of Kubernetes secrets do; `fs.watch` sees neither.
 *
 * @param changed must not throw: the error would end the process
 * @returns a function that stops watching
 */
export function watchFiles(files: readonly string[], changed: () => void): () => void {
  /** When the first change since the last call was seen. */
  let firstSeen: number | undefined;
  const call = (): void => {
    firstSeen = undefined;
    changed();
  };
  // The first call. `refresh` makes others, also after it has run out.
  const quietTimer = setTimeout(call, QUIET_TIME).unref();
  const seeChange = (): void => {
    firstSeen ??= performance.now();
    if (performance.now() - firstSeen < LONGEST_CHANGE) quietTimer.refresh();
  };
  for (const file of files) watchFile(file, { interval: POLL_INTERVAL, persistent: false }, seeChange);
  return () => {
    clearTimeout(quietTimer);
    for (const file of files) unwatchFile(file, seeChange);
  };
}
