import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import {
  type Outcome,
  PlantRepository,
  RepositoryUnavailableError,
  type StoredPlant,
} from '../../storage/plant-repository.js';
import { RowStore } from './row-store.js';
import type { Row } from './rows.js';

/** Is not available for its first batch, and records how many plants each batch has. */
class RecoveringRepository extends PlantRepository {
  readonly sizes: number[] = [];

  override async add(batch: readonly StoredPlant[]): Promise<readonly Outcome[]> {
    this.sizes.push(batch.length);
    if (this.sizes.length === 1) throw new RepositoryUnavailableError('it is away');
    return Promise.resolve(batch.map(() => 'created'));
  }

  override close(): Promise<void> {
    return Promise.resolve();
  }
}

describe('The rows of a chunk', () => {
  beforeAll(() => void Logger.overrideLogger(false));

  it('are all added, reported or refused before the import ends, which closes the store', async () => {
    const repository = new RecoveringRepository();
    const counts = { created: 0, repeated: 0, conflict: 0, rejected: 0 };
    const reported: [number, string][] = [];
    const store = new RowStore(repository, counts, ({ line }, reason) => reported.push([line, reason]));
    const plants = Array.from({ length: 1_500 }, (_, index): Row => {
      return { kind: 'plant', line: index + 1, source: '', plant: { id: BigInt(index), name: 'Monstera' } };
    });

    const wrong: Row = { kind: 'rejected', line: 1_501, source: '', reason: 'It is wrong.' };

    await expect(store.add([...plants, wrong])).rejects.toThrow('it is away');

    expect(repository.sizes).toEqual([1_024, 476]);
    expect(counts).toEqual({ created: 476, repeated: 0, conflict: 0, rejected: 1 });
    expect(reported).toEqual([[1_501, 'It is wrong.']]);
  });

  it('are not rejected because of a defect of the program, which ends the import', async () => {
    const repository = new RecoveringRepository();
    const defect = new TypeError('Cannot mix BigInt and other types');
    jest.spyOn(repository, 'add').mockRejectedValue(defect);
    const counts = { created: 0, repeated: 0, conflict: 0, rejected: 0 };
    const store = new RowStore(repository, counts, () => undefined);
    const row: Row = { kind: 'plant', line: 1, source: '', plant: { id: 1n, name: 'Monstera' } };

    await expect(store.add([row])).rejects.toBe(defect);
    expect(counts.rejected).toBe(0);
  });
});
