import { lengthOf, type StoredPlant } from '../../storage/plant-repository.js';

const MAX_PLANTS = 1_000;

/** Length of texts at which a batch is full, because many of the longest plants would not fit into memory. */
const MAX_LENGTH = 65_536;

/** Groups plants into batches, because encoding, writing or adding one plant takes as long as some hundred. */
export async function* inBatches(plants: AsyncIterable<StoredPlant>): AsyncGenerator<readonly StoredPlant[]> {
  let batch: StoredPlant[] = [];
  let length = 0;
  for await (const plant of plants) {
    batch.push(plant);
    length += lengthOf(plant);
    if (batch.length < MAX_PLANTS && length < MAX_LENGTH) continue;
    yield batch;
    batch = [];
    length = 0;
  }
  if (batch.length > 0) yield batch;
}
