import { contentOf, type Operation, storeFrom, violationsIn } from '../support/history.js';
import { type Outcome, PlantRepository, type StoredPlant } from '../../src/storage/plant-repository.js';
import { TOKEN } from '../support/client.js';
import { startService } from '../support/service.js';
import { type Store } from '../support/store.js';
import { Workload } from '../support/workload.js';

const [A, B] = [contentOf({ name: 'a' }), contentOf({ name: 'b', tag: '' })];

const ok = (content: string): Operation => ({ id: 1n, content, outcome: 'ok' });
const refused = (content: string): Operation => ({ id: 1n, content, outcome: 'refused' });
const unknown = (content: string): Operation => ({ id: 1n, content, outcome: 'unknown' });

function storing(content: string | undefined): Map<bigint, string> {
  return new Map(content === undefined ? [] : [[1n, content]]);
}

describe('The history checker', () => {
  it.each<{ what: string; sent: Operation[]; stored: string | undefined }>([
    { what: 'an acknowledged plant that is stored', sent: [ok(A), ok(A)], stored: A },
    { what: 'a refused plant that is not stored', sent: [ok(A), refused(B)], stored: A },
    { what: 'an unknown plant that is stored', sent: [unknown(A)], stored: A },
    { what: 'an unknown plant that is not stored', sent: [unknown(A)], stored: undefined },
    { what: 'a plant that was refused once and unknown once', sent: [refused(A), unknown(A)], stored: A },
  ])('accepts $what', ({ sent, stored }) => {
    expect(violationsIn(sent, storing(stored))).toEqual([]);
  });

  it.each<{ violation: string; sent: Operation[]; stored: string | undefined }>([
    { violation: 'more than one content was acknowledged', sent: [ok(A), ok(B)], stored: A },
    { violation: `${A} was acknowledged and is not stored`, sent: [ok(A)], stored: undefined },
    { violation: `${A} was acknowledged and ${B} is stored`, sent: [ok(A), unknown(B)], stored: B },
    { violation: `${A} was refused and is stored`, sent: [refused(A)], stored: A },
    { violation: `${B} is stored and was not sent`, sent: [unknown(A)], stored: B },
    { violation: `${A} is stored and was not sent`, sent: [], stored: A },
  ])('reports: $violation', ({ violation, sent, stored }) => {
    expect(violationsIn(sent, storing(stored))).toContain(`1: ${violation}`);
  });
});

describe('The history checker, with a service that has an injected fault', () => {
  type Add = PlantRepository['add'];

  /** A real repository, except for the way that it adds plants. */
  class FaultyRepository extends PlantRepository {
    constructor(
      private readonly inner: PlantRepository,
      override readonly add: Add,
    ) {
      super();
    }

    override close(): Promise<void> {
      return this.inner.close();
    }
  }

  function allCreated(batch: readonly StoredPlant[]): Outcome[] {
    return batch.map(() => 'created');
  }

  /** Acknowledges batches before their commit, and loses the last 20, like synchronous=OFF in a power failure. */
  function acknowledgeEarly(inner: PlantRepository): Add {
    const waiting: (readonly StoredPlant[])[] = [];
    return async (batch) => {
      waiting.push(batch);
      const due = waiting.length > 20 ? waiting.shift() : undefined;
      if (due !== undefined) await inner.add(due);
      return allCreated(batch);
    };
  }

  function replacePlants(_inner: PlantRepository, store: Store): Add {
    const upsert =
      'INSERT INTO plants VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET name = excluded.name, tag = excluded.tag';
    return async (batch) => {
      for (const { id, name, tag } of batch) await store.query(upsert, id, name, tag ?? null);
      return allCreated(batch);
    };
  }

  it.each<{ fault: string; add: (inner: PlantRepository, store: Store) => Add; expected: RegExp }>([
    { fault: 'early acknowledgement', add: acknowledgeEarly, expected: /acknowledged and is not stored/ },
    { fault: 'last writer wins', add: replacePlants, expected: /more than one content was acknowledged/ },
  ])('finds $fault', async ({ add, expected }) => {
    const service = await startService({
      repository: (inner, store) => new FaultyRepository(inner, add(inner, store)),
    });
    const workload = new Workload(() => service.url, { token: TOKEN, clients: 16, seed: 1 });
    // Enough requests for each kind of fault.
    await workload.operations(2_000);
    await workload.stop();
    const violations = violationsIn(workload.history, storeFrom(await service.rows()));
    await service.close();

    expect(violations).toContainEqual(expect.stringMatching(expected));
  });
});
