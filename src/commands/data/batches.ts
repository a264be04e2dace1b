const MAX_ITEMS = 1_000;

/** Length of texts at which a batch is full, because many of the longest plants would not fit into memory. */
const MAX_LENGTH = 65_536;

/** Moves the cursor to the beginning of the line, and erases the line. */
const ERASE = '\r\x1b[K';

/** Milliseconds between two updates of the progress. */
const INTERVAL = 100;

/**
 * Groups items into batches, because encoding, writing or adding one plant takes as long as some hundred.
 *
 * @param measure returns the length of an item's texts
 */
export async function* inBatches<Item>(
  items: AsyncIterable<Item>,
  measure: (item: Item) => number,
): AsyncGenerator<readonly Item[]> {
  let batch: Item[] = [];
  let length = 0;
  for await (const item of items) {
    batch.push(item);
    length += measure(item);
    if (batch.length < MAX_ITEMS && length < MAX_LENGTH) continue;
    yield batch;
    batch = [];
    length = 0;
  }
  if (batch.length > 0) yield batch;
}

/**
 * Yields batches and, if stderr is a terminal, shows there how many of their items are done.
 *
 * @param unit the plural of what is counted, such as plants
 */
export async function* withProgress<Item>(
  batches: AsyncIterable<readonly Item[]>,
  unit: string,
): AsyncGenerator<readonly Item[]> {
  if (!process.stderr.isTTY) {
    yield* batches;
    return;
  }
  let done = 0;
  let shown = -Infinity;
  try {
    for await (const batch of batches) {
      if (performance.now() - shown > INTERVAL) {
        process.stderr.write(`${ERASE}${done} ${unit}`);
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
