/** Moves the cursor to the beginning of the line, and erases the line. */
const ERASE = '\r\x1b[K';

/** Milliseconds between two updates. */
const INTERVAL = 100;

/**
 * Yields batches and, if stderr is a terminal, shows there how many of their items are done.
 *
 * @param unit the plural of what is counted, such as plants
 * @param countTotal called only if the progress is shown, because counting takes time
 */
export async function* withProgress<Item>(
  batches: AsyncIterable<readonly Item[]>,
  unit: string,
  countTotal?: () => Promise<number>,
): AsyncGenerator<readonly Item[]> {
  if (!process.stderr.isTTY) {
    yield* batches;
    return;
  }
  const total = await countTotal?.();
  const end = total === undefined ? unit : `of ${total} ${unit}`;
  let done = 0;
  let shown = -Infinity;
  try {
    for await (const batch of batches) {
      if (performance.now() - shown > INTERVAL) {
        process.stderr.write(`${ERASE}${done} ${end}`);
        shown = performance.now();
      }
      yield batch;
      done += batch.length;
    }
  } finally {
    process.stderr.write(ERASE);
  }
}

/** Prints a line on stderr, in the place of the progress if that is shown. The next update is below the line. */
export function printAboveProgress(line: string): void {
  process.stderr.write(process.stderr.isTTY ? `${ERASE}${line}\n` : `${line}\n`);
}
