const MAX_ITEMS = 1_000;

/** Length of texts at which a batch is full, because many of the longest plants would not fit into memory. */
const MAX_LENGTH = 65_536;

/** Groups items into batches, because encoding, writing or adding one plant takes as long as some hundred. */
export async function* inBatches<Item>(
  items: AsyncIterable<Item>,
  lengthOf: (item: Item) => number,
): AsyncGenerator<readonly Item[]> {
  let batch: Item[] = [];
  let length = 0;
  for await (const item of items) {
    batch.push(item);
    length += lengthOf(item);
    if (batch.length < MAX_ITEMS && length < MAX_LENGTH) continue;
    yield batch;
    batch = [];
    length = 0;
  }
  if (batch.length > 0) yield batch;
}
