import { contentOf, type Operation, storeFrom, violationsIn } from '../support/history.js';
import { type Outcome, PlantRepository, type StoredPlant } from '../../src/storage/plant-repository.js';
import { TOKEN } from '../support/client.js';
import { startService } from '../support/service.js';
import { type Store } from '../support/store.js';
import { Workload } from '../support/workload.js';

const [A, B] = [contentOf({ name: 'a' }), contentOf({ name: 'b', tag: '' })];

function operation(content: string, outcome: Operation['outcome']): Operation {
  return { id: 1n, content, outcome };
}

describe('The history checker', () => {
  it.each<[string, Operation[], [bigint, string][]]>([
    ['an empty history', [], []],
    ['an acknowledged plant that is stored', [operation(A, 'ok'), operation(A, 'ok')], [[1n, A]]],
    ['a refused plant that is not stored', [operation(A, 'ok'), operation(B, 'refused')], [[1n, A]]],
    ['an unknown plant that is stored', [operation(A, 'unknown')], [[1n, A]]],
    ['an unknown plant that is not stored', [operation(A, 'unknown')], []],
    ['a plant that was refused once and unknown once', [operation(A, 'refused'), operation(A, 'unknown')], [[1n, A]]],
  ])('accepts %s', (_what, history, store) => {
    expect(violationsIn(history, new Map(store))).toEqual([]);
  });

  it.each<[string, Operation[], [bigint, string][], string]>([
    [
      'two acknowledged contents',
      [operation(A, 'ok'), operation(B, 'ok')],
      [[1n, A]],
      'more than one content was acknowledged',
    ],
    ['a lost acknowledged plant', [operation(A, 'ok')], [], `${A} was acknowledged and is not stored`],
    [
      'a replaced acknowledged plant',
      [operation(A, 'ok'), operation(B, 'unknown')],
      [[1n, B]],
      `${A} was acknowledged and ${B} is stored`,
    ],
    ['a stored refused plant', [operation(A, 'refused')], [[1n, A]], `${A} was refused and is stored`],
    ['a content that was not sent', [operation(A, 'unknown')], [[1n, B]], `${B} is stored and was not sent`],
    ['an id that was not sent', [], [[1n, A]], `${A} is stored and was not sent`],
  ])('reports %s', (_what, history, store, violation) => {
    expect(violationsIn(history, new Map(store))).toContain(`1: ${violation}`);
  });
});

describe('The history checker, with a service that has an injected fault', () => {
  /** Delegates to the real repository, except for the fault of a subclass. */
  abstract class FaultyRepository extends PlantRepository {
    constructor(protected readonly inner: PlantRepository) {
      super();
    }

    override check(): Promise<void> {
      return this.inner.check();
    }

    override close(): Promise<void> {
      return this.inner.close();
    }
  }

  /** Acknowledges batches before their commit, and loses the last 20, like synchronous=OFF in a power failure. */
  class EarlyAcknowledgement extends FaultyRepository {
    readonly #waiting: (readonly StoredPlant[])[] = [];

    override async add(batch: readonly StoredPlant[]): Promise<readonly Outcome[]> {
      this.#waiting.push(batch);
      const due = this.#waiting.length > 20 ? this.#waiting.shift() : undefined;
      if (due !== undefined) await this.inner.add(due);
      return batch.map(() => 'created');
    }
  }

  class LostBatches extends FaultyRepository {
    #count = 0;

    override async add(batch: readonly StoredPlant[]): Promise<readonly Outcome[]> {
      this.#count += 1;
      return this.#count % 10 === 0 ? batch.map(() => 'created') : this.inner.add(batch);
    }
  }

  class LastWriterWins extends FaultyRepository {
    constructor(
      inner: PlantRepository,
      private readonly store: Store,
    ) {
      super(inner);
    }

    override async add(batch: readonly StoredPlant[]): Promise<readonly Outcome[]> {
      const upsert =
        'INSERT INTO plants VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET name = excluded.name, tag = excluded.tag';
      for (const { id, name, tag } of batch) await this.store.query(upsert, id, name, tag ?? null);
      return batch.map(() => 'created');
    }
  }

  it.each<[string, (inner: PlantRepository, store: Store) => PlantRepository, RegExp | undefined]>([
    ['no fault', (inner) => inner, undefined],
    ['acknowledgement before the commit', (inner) => new EarlyAcknowledgement(inner), /acknowledged and is not stored/],
    ['lost batches', (inner) => new LostBatches(inner), /acknowledged and is not stored/],
    ['last writer wins', (inner, store) => new LastWriterWins(inner, store), /more than one content was acknowledged/],
  ])('finds %s', async (_fault, repository, expected) => {
    const service = await startService({ repository });
    const workload = new Workload(() => service.url, { token: TOKEN, clients: 16, seed: 1 });
    try {
      // Enough requests for each kind of fault.
      await workload.operations(2_000);
    } finally {
      await workload.stop();
    }
    const violations = violationsIn(workload.history, storeFrom(await service.rows()));
    await service.close();

    if (expected === undefined) expect(violations).toEqual([]);
    else expect(violations).toContainEqual(expect.stringMatching(expected));
    expect(workload.history.filter(({ outcome }) => outcome === 'ok').length).toBeGreaterThan(100);
  });
});
