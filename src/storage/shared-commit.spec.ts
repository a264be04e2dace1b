import { openRepository } from './open-repository.js';
import { type Outcome, PlantRepository, RepositoryUnavailableError, type StoredPlant } from './plant-repository.js';
import { RemoteRepository, resultOf } from './remote-repository.js';
import { SharedCommit } from './shared-commit.js';

/** Passes batches on to a real repository, unless a test lets one fail, and records the size of each. */
class RecordingRepository extends PlantRepository {
  readonly sizes: number[] = [];
  /** Returns the error for a batch. */
  fail: (batch: readonly StoredPlant[]) => Error | undefined = () => undefined;

  constructor(private readonly repository: PlantRepository) {
    super();
  }

  override async add(batch: readonly StoredPlant[]): Promise<readonly Outcome[]> {
    this.sizes.push(batch.length);
    const error = this.fail(batch);
    if (error !== undefined) throw error;
    return this.repository.add(batch);
  }

  override close(): Promise<void> {
    return this.repository.close();
  }
}

function plant(id: number, name = 'Monstera'): StoredPlant {
  return { id: BigInt(id), name };
}

describe('the shared commit of several processes', () => {
  let repository: RecordingRepository;
  let commit: SharedCommit;
  /** The stores of two processes. */
  let first: RemoteRepository;
  let second: RemoteRepository;

  beforeEach(async () => {
    repository = new RecordingRepository(await openRepository('sqlite::memory:'));
    commit = new SharedCommit(repository);
    first = new RemoteRepository((batch) => void resultOf(commit.add(batch)).then((result) => first.settle(result)));
    second = new RemoteRepository((batch) => void resultOf(commit.add(batch)).then((result) => second.settle(result)));
  });

  afterEach(() => repository.close());

  it('has the batches of one turn of the event loop, and each process gets its own outcomes', async () => {
    const outcomes = await Promise.all([
      first.add([plant(1), plant(2)]),
      second.add([plant(2), plant(1, 'Ficus'), plant(3)]),
    ]);

    expect(outcomes).toEqual([
      ['created', 'created'],
      ['repeated', 'conflict', 'created'],
    ]);
    expect(repository.sizes).toEqual([5]);
    expect(commit.depth).toBe(0);
  });

  it('refuses all of its batches when the store is unavailable', async () => {
    repository.fail = () => new RepositoryUnavailableError('the disk is full');

    const results = await Promise.allSettled([first.add([plant(1)]), second.add([plant(2)])]);

    expect(results.map((result) => (result as PromiseRejectedResult).reason as Error)).toEqual([
      new RepositoryUnavailableError('the disk is full'),
      new RepositoryUnavailableError('the disk is full'),
    ]);
    expect(repository.sizes).toEqual([2]);
  });

  it('fails only the batch that has a defect', async () => {
    repository.fail = (batch) => (batch.some(({ id }) => id === 2n) ? new TypeError('a defect') : undefined);

    const results = await Promise.allSettled([first.add([plant(1)]), second.add([plant(2)])]);

    expect(results[0]).toEqual({ status: 'fulfilled', value: ['created'] });
    const reason = (results[1] as PromiseRejectedResult).reason as Error;
    expect(reason).not.toBeInstanceOf(RepositoryUnavailableError);
    expect(reason.stack).toMatch(/^TypeError: a defect\n/);
    expect(repository.sizes).toEqual([2, 1, 1]);
  });
});
