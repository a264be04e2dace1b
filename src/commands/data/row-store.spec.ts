import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { KeptOutError } from '../../storage/engine-errors.js';
import {
  type Outcome,
  PlantRepository,
  RepositoryUnavailableError,
  type StoredPlant,
} from '../../storage/plant-repository.js';
import { type Counts, RowStore } from './row-store.js';
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

const MONSTERA: Row = { kind: 'plant', line: 1, source: '', plant: { id: 1n, name: 'Monstera' } };

interface Created {
  readonly store: RowStore;
  readonly repository: RecoveringRepository;
  readonly counts: Counts;
  /** Line and reason of each row that was reported. */
  readonly reported: readonly [number, string][];
}

function createStore(): Created {
  const repository = new RecoveringRepository();
  const counts: Counts = { created: 0, repeated: 0, conflict: 0, rejected: 0 };
  const reported: [number, string][] = [];
  const store = new RowStore(repository, counts, ({ line }, reason) => reported.push([line, reason]));
  return { store, repository, counts, reported };
}

describe('The rows of a chunk', () => {
  beforeAll(() => void Logger.overrideLogger(false));

  it('are all added, reported or refused before the import ends, which closes the store', async () => {
    const { store, repository, counts, reported } = createStore();
    const plants = Array.from({ length: 1_500 }, (_, index): Row => {
      return { kind: 'plant', line: index + 1, source: '', plant: { id: BigInt(index), name: 'Monstera' } };
    });

    const wrong: Row = { kind: 'rejected', line: 1_501, source: '', reason: 'It is wrong.' };

    await expect(store.add([...plants, wrong])).rejects.toThrow('it is away');

    expect(repository.sizes).toEqual([1_024, 476]);
    expect(counts).toEqual({ created: 476, repeated: 0, conflict: 0, rejected: 1 });
    expect(reported).toEqual([[1_501, 'It is wrong.']]);
  });

  it.each([
    ['that JavaScript notices', new TypeError('Cannot mix BigInt and other types')],
    ['such as a recursion without an end', new RangeError('Maximum call stack size exceeded')],
    ['of the driver', Object.assign(new Error('statement has been finalized'), { code: 'ERR_INVALID_STATE' })],
  ])('are not rejected because of a defect %s, which ends the import', async (_, defect) => {
    const { store, repository, counts } = createStore();
    jest.spyOn(repository, 'add').mockRejectedValue(defect);

    await expect(store.add([MONSTERA])).rejects.toBe(defect);
    expect(counts.rejected).toBe(0);
  });

  it('are not rejected because of a repository that returns no outcome, which ends the import', async () => {
    const { store, repository, counts } = createStore();
    jest.spyOn(repository, 'add').mockResolvedValue([]);

    await expect(store.add([MONSTERA])).rejects.toThrow('must return an outcome');
    expect(counts.rejected).toBe(0);
  });

  it.each([
    ['a CHECK of SQLite', Object.assign(new Error('CHECK constraint failed'), { errcode: 275 })],
    [
      'a CHECK of PostgreSQL',
      Object.assign(new Error('violates check constraint'), { code: '23514', severity: 'ERROR' }),
    ],
    ['a trigger that drops them', new KeptOutError()],
  ])('are rejected because of %s', async (_, refusal) => {
    const { store, repository, counts, reported } = createStore();
    jest.spyOn(repository, 'add').mockRejectedValue(refusal);

    await store.add([MONSTERA]);

    expect(counts.rejected).toBe(1);
    expect(reported).toEqual([[1, `The database refuses it: ${refusal.message}`]]);
  });
});
