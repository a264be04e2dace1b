import { stat } from 'node:fs/promises';

/** Milliseconds between two looks at the files. */
const POLL_INTERVAL = 500;

/**
 * Looks after files that are replaced or written while the service runs, as those that renew certificates do. Polling
 * also sees what no notification tells of: network disks, and links that are turned elsewhere.
 *
 * @param changed is called when two looks in a row have found the same change of any of them, so that whoever replaces
 * several has done so
 * @returns ends the looking
 */
export function watchFiles(files: readonly string[], changed: () => void): () => void {
  let known: string | undefined;
  let seen: string | undefined;
  const look = async (): Promise<void> => {
    const found = (await Promise.all(files.map(stateOf))).join('\n');
    known ??= found;
    const isAtRest = found === seen;
    seen = found;
    if (found === known || !isAtRest) return;
    known = found;
    changed();
  };
  void look();
  const timer = setInterval(() => void look(), POLL_INTERVAL).unref();
  return () => clearInterval(timer);
}

/** Differs when the file is another one, has been written, or cannot be seen. */
async function stateOf(file: string): Promise<string> {
  try {
    const { dev, ino, size, mode, mtimeMs, ctimeMs } = await stat(file);
    return [dev, ino, size, mode, mtimeMs, ctimeMs].join();
  } catch {
    return 'none';
  }
}
