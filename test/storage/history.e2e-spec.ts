import { contentOf, type Operation, violationsIn } from '../support/history.js';
import { type Outcome, PlantRepository, type StoredPlant } from '../../src/storage/plant-repository.js';
import { TOKEN } from '../support/client.js';
import { startService } from '../support/service.js';
import { type Store } from '../support/store.js';
import { Workload } from '../support/workload.js';

const [A, B] = [contentOf({ name: 'a' }), contentOf({ name: 'b', tag: '' })];

function operation(content: string, outcome: Operation['outcome']): Operation {
  return { id: 1n, content, outcome };
}

describe('the history checker', () => {
  it.each<[string, Operation[], [bigint, string][]]>([
    ['an empty history', [], []],
    ['what was acknowledged and is stored', [operation(A, 'ok'), operation(A, 'ok')], [[1n, A]]],
    ['what lost against it', [operation(A, 'ok'), operation(B, 'refused')], [[1n, A]]],
    ['what is unknown and is stored', [operation(A, 'unknown')], [[1n, A]]],
    ['what is unknown and is not', [operation(A, 'unknown')], []],
    [
      'what was refused at one time and unknown at another',
      [operation(A, 'refused'), operation(A, 'unknown')],
      [[1n, A]],
    ],
  ])('accepts %s', (_what, history, store) => {
    expect(violationsIn(history, new Map(store))).toEqual([]);
  });

  it.each<[string, Operation[], [bigint, string][], string]>([
    [
      'two contents acknowledged',
      [operation(A, 'ok'), operation(B, 'ok')],
      [[1n, A]],
      'more than one content was acknowledged',
    ],
    ['an acknowledged plant lost', [operation(A, 'ok')], [], `${A} was acknowledged and is not stored`],
    [
      'an acknowledged plant replaced',
      [operation(A, 'ok'), operation(B, 'unknown')],
      [[1n, B]],
      `${A} was acknowledged and ${B} is stored`,
    ],
    ['a refused plant stored', [operation(A, 'refused')], [[1n, A]], `${A} was refused and is stored`],
    ['a content that was not sent', [operation(A, 'unknown')], [[1n, B]], `${B} is stored and was not sent`],
    ['an id that was not sent', [], [[1n, A]], `${A} is stored and was not sent`],
  ])('reports %s', (_what, history, store, violation) => {
    expect(violationsIn(history, new Map(store))).toContain(`1: ${violation}`);
  });
});

describe('the history checker, over a service with a planted fault,', () => {
  /** Passes on to the real repository what it does not get wrong. */
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

  /** As synchronous=OFF would, had the power failed at the end: acknowledges before the commit, and then loses one. */
  class EarlyAcknowledgement extends FaultyRepository {
    #previous: readonly StoredPlant[] = [];

    override async add(batch: readonly StoredPlant[]): Promise<readonly Outcome[]> {
      const due = this.#previous;
      this.#previous = batch;
      if (due.length > 0) await this.inner.add(due);
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
    ['none at all, finds none', (inner) => inner, undefined],
    ['acknowledgement before the commit', (inner) => new EarlyAcknowledgement(inner), /acknowledged and is not stored/],
    ['lost batches', (inner) => new LostBatches(inner), /acknowledged and is not stored/],
    ['last writer wins', (inner, store) => new LastWriterWins(inner, store), /more than one content was acknowledged/],
  ])('%s', async (_fault, repository, expected) => {
    const service = await startService({ repository });
    const workload = new Workload(() => service.url, { token: TOKEN, clients: 16, seed: 1 });
    try {
      // Enough requests for every kind of fault, however fast the machine is.
      while (workload.history.length < 2_000) await new Promise(setImmediate);
    } finally {
      await workload.stop();
    }
    const violations = violationsIn(
      workload.history,
      new Map((await service.rows()).map((row) => [row.id, contentOf(row)])),
    );
    await service.close();

    if (expected === undefined) expect(violations).toEqual([]);
    else expect(violations).toContainEqual(expect.stringMatching(expected));
    expect(workload.history.filter(({ outcome }) => outcome === 'ok').length).toBeGreaterThan(100);
  });
});
