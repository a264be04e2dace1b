import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { until } from '../../test/support/until.js';
import { openRepository } from './engines.js';
import { BATCH_CHANNEL, GroupCommit } from './group-commit.js';
import { type Outcome, PlantRepository, RepositoryUnavailableError, type StoredPlant } from './plant-repository.js';

/** A plant that SQLite refuses. */
const HUGE = { id: 2n ** 63n, name: 'an id beyond int64' };

/** Passes batches on to a real repository, one at a time, and records their sizes. */
class CountingRepository extends PlantRepository {
  readonly sizes: number[] = [];
  #isBusy = false;

  /** @param hold a batch waits for the promise that it returns */
  constructor(
    private readonly repository: PlantRepository,
    public hold: () => Promise<void> | undefined = nextTurn,
  ) {
    super();
  }

  override async add(batch: readonly StoredPlant[]): Promise<readonly Outcome[]> {
    expect(this.#isBusy).toBe(false);
    this.sizes.push(batch.length);
    this.#isBusy = true;
    try {
      await this.hold();
      return await this.repository.add(batch);
    } finally {
      this.#isBusy = false;
    }
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
  /** The messages of the diagnostics channel. */
  let messages: unknown[];
  const listener = (message: unknown): void => void messages.push(message);

  beforeEach(async () => {
    repository = new CountingRepository(await openRepository('sqlite::memory:'));
    commit = new GroupCommit(repository);
    messages = [];
    subscribe(BATCH_CHANNEL, listener);
  });

  afterEach(async () => {
    unsubscribe(BATCH_CHANNEL, listener);
    await repository.close();
  });

  it('stores plants that arrive in one turn of the event loop in as few batches as can hold them', async () => {
    await Promise.all(plants(2_100).map((plant) => commit.add(plant)));

    expect(repository.sizes).toEqual([1_024, 1_024, 52]);
  });

  it('stores no further plant in a batch whose texts are a quarter of a million characters long', async () => {
    const texts = [262_143, 1, 1, 262_144, 1].map((length) => 'x'.repeat(length));
    await Promise.all(texts.map((name, index) => commit.add({ id: BigInt(index), name })));

    expect(repository.sizes).toEqual([2, 2, 1]);
  });

  it('returns to each plant its own outcome, and publishes size, duration and outcomes of the batch', async () => {
    const began = performance.now();
    const names = ['Monstera', 'Ficus', 'Monstera', 'Aloe'];
    const outcomes = await Promise.all(names.map((name) => commit.add({ id: 1n, name })));
    const most = (performance.now() - began) / 1_000;

    expect(outcomes).toEqual(['created', 'conflict', 'repeated', 'conflict']);
    const anyTime = expect.any(Number) as number;
    expect(messages).toEqual([{ size: 4, seconds: anyTime, created: 1, repeated: 1, conflict: 2 }]);
    const [{ seconds }] = messages as [{ seconds: number }];
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(most);
  });

  it('adds the plants of a batch that fails again one at a time, so that only the plant at fault is rejected', async () => {
    const added = Promise.allSettled([...plants(2), HUGE, ...plants(5).slice(2)].map((plant) => commit.add(plant)));
    await until('it adds them one at a time', () => repository.sizes.length > 1);
    await commit.add({ id: 100n, name: 'a plant that arrives meanwhile' });

    expect((await added).map(({ status }) => status)).toEqual([
      ...['fulfilled', 'fulfilled', 'rejected'],
      ...['fulfilled', 'fulfilled', 'fulfilled'],
    ]);
    expect(repository.sizes).toEqual([6, 1, 1, 1, 1, 1, 1, 1]);
  });

  it('refuses the other plants of a batch that failed when the store becomes unavailable', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    const reason = new RepositoryUnavailableError('the disk is full');
    repository.hold = () => (repository.sizes.length > 2 ? Promise.reject(reason) : nextTurn());
    const results = await Promise.allSettled([HUGE, ...plants(5)].map((plant) => commit.add(plant)));
    warn.mockRestore();

    expect(results.slice(1)).toEqual(Array(5).fill({ status: 'rejected', reason }));
    // Each further attempt could take as long as the store waits.
    expect(repository.sizes).toEqual([6, 1, 1]);
  });

  it('refuses the plants of a batch while the store takes none, and logs each reason once, and its end', async () => {
    const lines: unknown[] = [];
    const log = jest.spyOn(Logger.prototype, 'log').mockImplementation((line: unknown) => void lines.push(line));
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation((line: unknown) => void lines.push(line));
    for (const words of ['the disk is full', 'the disk is full', 'the disk fails']) {
      const reason = new RepositoryUnavailableError(words);
      repository.hold = () => Promise.reject(reason);
      const results = await Promise.allSettled(plants(2).map((plant) => commit.add(plant)));
      expect(results).toEqual(Array(2).fill({ status: 'rejected', reason }));
    }
    expect(messages).toEqual([]);
    expect(repository.sizes).toEqual([2, 2, 2]);
    repository.hold = nextTurn;
    for (const plant of plants(2)) await commit.add(plant);
    log.mockRestore();
    warn.mockRestore();

    expect(lines).toEqual([
      'Plants refused with 503: the disk is full',
      'Plants refused with 503: the disk fails',
      'The store takes plants again',
    ]);
  });

  it('adds no batch again for which a repository of a host returns no outcomes: it may be stored', async () => {
    const add = jest.spyOn(repository, 'add').mockResolvedValue([]);
    const added = await Promise.allSettled(plants(4).map((plant) => commit.add(plant)));

    expect(added.map(({ status }) => status)).toEqual(Array(4).fill('rejected'));
    expect(add).toHaveBeenCalledTimes(1);
  });

  it('knows how many plants wait for their batch', async () => {
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    repository.hold = () => released;
    const added = plants(3).map((plant) => commit.add(plant));
    expect(commit.depth).toBe(3);
    await until('they are in a batch', () => commit.depth === 0);
    added.push(commit.add({ id: 9n, name: 'late' }));
    expect(commit.depth).toBe(1);
    release();
    await Promise.all(added);

    expect(commit.depth).toBe(0);
    expect(repository.sizes).toEqual([3, 1]);
  });

  it('runs batches outside the async context of the requests in them', async () => {
    const request = new AsyncLocalStorage<string>();
    const contexts: unknown[] = [];
    repository.hold = () => void contexts.push(request.getStore());

    const [first] = await Promise.all([
      request.run('first', async () => [await commit.add({ id: 1n, name: 'Monstera' }), request.getStore()]),
      request.run('second', () => commit.add({ id: 2n, name: 'Ficus' })),
    ]);

    expect(first).toEqual(['created', 'first']);
    expect(contexts).toEqual([undefined]);
  });

  it('stores a plant that arrives in any turn after a batch, at any step of the turn', async () => {
    for (let turns = 0; turns < 5; turns += 1) {
      for (let steps = 0; steps < 8; steps += 1) {
        const id = BigInt(10 * turns + steps);
        await commit.add({ id: -1n, name: 'Monstera' });
        for (let turn = 0; turn < turns; turn += 1) await nextTurn();
        for (let step = 0; step < steps; step += 1) await Promise.resolve();

        expect(await commit.add({ id, name: 'Ficus' })).toBe('created');
      }
    }
  });

  it('is full while 64 Mi characters wait', async () => {
    repository.hold = () => Promise.reject(new Error('the store fails'));
    const name = 'n'.repeat(1_048_576);
    const calls: Promise<unknown>[] = [];
    for (let id = 1n; id <= 64n; id += 1n) {
      expect(commit.isFull).toBe(false);
      calls.push(commit.add({ id, name }));
    }

    expect(commit.isFull).toBe(true);
    await Promise.allSettled(calls);
    expect(commit.isFull).toBe(false);
  });
});
