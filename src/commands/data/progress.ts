/** Erases the line of the terminal. */
const ERASE = '\r\x1b[K';

/** Saves the position of the cursor (DECSC), where cli-progress erases the bar at the end. */
const SAVE = '\x1b7';

/**
 * Yields batches and, if stderr is a terminal, shows there how many of their items are done: as a bar with the remaining
 * time, or as a count if there is no total.
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
  const { default: cliProgress } = await import('cli-progress');
  const total = await countTotal?.();
  const format =
    total === undefined
      ? `{value} ${unit}, {duration_formatted}`
      : `{bar} {value} of {total} ${unit}, {eta_formatted} left`;
  const bar = new cliProgress.SingleBar({ format, stream: process.stderr, clearOnComplete: true });
  // The bar turns off the line wrap of the terminal, and only `stop` turns it on again, so `stop` also runs if a signal or
  // an error ends the program. Registered first, so that other exit listeners print below the bar.
  const stop = (): void => bar.stop();
  process.prependOnceListener('exit', stop);
  bar.start(total ?? 0, 0);
  try {
    for await (const batch of batches) {
      yield batch;
      bar.increment(batch.length);
    }
  } finally {
    stop();
    process.off('exit', stop);
  }
}

/**
 * Prints a line on stderr, above the progress bar if there is one. `MultiBar.log` of cli-progress 3.12 would lose the lines
 * that come after its last redrawing.
 */
export function printAboveProgress(line: string): void {
  process.stderr.write(process.stderr.isTTY ? `${ERASE}${line}\n${SAVE}` : `${line}\n`);
}
