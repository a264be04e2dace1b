import { EventEmitter, once } from 'node:events';
import { GroupCommit } from './group-commit.js';
import { openRepository } from './open-repository.js';
import { type Outcome, PlantRepository, RepositoryUnavailableError, type StoredPlant } from './plant-repository.js';

/** A real repository that notes the size of each batch. */
class CountingRepository extends PlantRepository {
  readonly sizes: number[] = [];
  /** Keeps batches waiting. */
  hold: (batch: readonly StoredPlant[]) => Promise<void> | undefined = () => undefined;

  constructor(private readonly repository: PlantRepository) {
    super();
  }

  override async add(batch: readonly StoredPlant[]): Promise<readonly Outcome[]> {
    this.sizes.push(batch.length);
    await this.hold(batch);
    return this.repository.add(batch);
  }

  override check(): Promise<void> {
    return this.repository.check();
  }

  override close(): Promise<void> {
    return this.repository.close();
  }
}

function plants(count: number): StoredPlant[] {
  return Array.from({ length: count }, (_, index) => ({ id: BigInt(index), name: `plant ${index}` }));
}

describe('group commit', () => {
  let repository: CountingRepository;
  let commit: GroupCommit;

  beforeEach(async () => {
    repository = new CountingRepository(await openRepository('sqlite::memory:'));
    commit = new GroupCommit(repository);
  });

  afterEach(() => repository.close());

  it('stores in one batch what comes in one turn of the event loop', async () => {
    const outcomes = await Promise.all(plants(64).map((plant) => commit.add(plant)));

    expect(outcomes).toEqual(Array.from({ length: 64 }, () => 'created'));
    expect(repository.sizes).toEqual([64]);
  });

  it('makes several batches of more than one can hold', async () => {
    await Promise.all(plants(600).map((plant) => commit.add(plant)));

    expect(repository.sizes).toEqual([256, 256, 88]);
  });

  describe('of a repository that takes two', () => {
    /** Lets the batch with this plant go on. */
    let release: (name: string) => void;

    beforeEach(() => {
      const released = new EventEmitter();
      release = (name) => void released.emit(name);
      repository.hold = async ([plant]) => {
        if (plant?.name.startsWith('held')) await once(released, plant.name);
      };
      Object.assign(repository, { concurrency: 2 });
    });

    it('leaves a batch that is late behind, though nobody comes when it is', async () => {
      await commit.add({ id: 1n, name: 'in time' });
      const late = commit.add({ id: 2n, name: 'held' });
      await batches(2);

      expect(await commit.add({ id: 3n, name: 'next' })).toBe('created');

      release('held');
      expect(await late).toBe('created');
    });

    it('is settled when all are stored, those who have overtaken included', async () => {
      const first = commit.add({ id: 1n, name: 'held before' });
      await batches(1);
      let isSettled = false;
      const settled = commit.settled().then(() => (isSettled = true));
      const second = commit.add({ id: 2n, name: 'held behind' });
      await batches(2);

      release('held before');
      await first;
      await new Promise(setImmediate);
      expect(isSettled).toBe(false);

      release('held behind');
      await settled;
      expect(await second).toBe('created');
    });

    async function batches(count: number): Promise<void> {
      while (repository.sizes.length < count) await new Promise(setImmediate);
    }
  });

  it('tells each its own outcome', async () => {
    const outcomes = await Promise.all([
      commit.add({ id: 1n, name: 'Monstera' }),
      commit.add({ id: 1n, name: 'Ficus' }),
      commit.add({ id: 1n, name: 'Monstera' }),
    ]);

    expect(outcomes).toEqual(['created', 'conflict', 'present']);
  });

  it('refuses of a batch only the plant that is at fault, and goes on', async () => {
    const huge = { id: 2n ** 63n, name: 'an id that no engine takes' };
    const failed = Promise.allSettled([commit.add(huge), commit.add({ id: 1n, name: 'Monstera' })]);
    expect((await failed).map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);

    expect(await commit.add({ id: 1n, name: 'Monstera' })).toBe('present');
  });

  it.each(Array.from({ length: 8 }, (_, steps) => [steps]))(
    'stores what comes %i steps after the end of a batch',
    async (steps) => {
      await commit.add({ id: 1n, name: 'Monstera' });
      for (let step = 0; step < steps; step += 1) await Promise.resolve();

      expect(await commit.add({ id: 2n, name: 'Ficus' })).toBe('created');
    },
    10_000,
  );

  it('refuses at once what would wait too long', async () => {
    const waiting = plants(4_096).map((plant) => commit.add(plant));

    await expect(commit.add({ id: -1n, name: 'one too many' })).rejects.toThrow(RepositoryUnavailableError);

    expect(new Set(await Promise.all(waiting))).toEqual(new Set(['created']));
    expect(await commit.add({ id: -1n, name: 'welcome now' })).toBe('created');
  });
});
