import { contentOf, type Operation, storeFrom, violationsIn } from '../support/history.js';
import { type Outcome, PlantRepository, type StoredPlant } from '../../src/storage/plant-repository.js';
import { TOKEN } from '../support/client.js';
import { startService } from '../support/service.js';
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

describe('The history checker, with a service that acknowledges batches before their commit', () => {
  /** A real repository that loses the last 20 batches, like synchronous=OFF in a power failure. */
  class FaultyRepository extends PlantRepository {
    readonly #waiting: (readonly StoredPlant[])[] = [];

    constructor(private readonly inner: PlantRepository) {
      super();
    }

    override async add(batch: readonly StoredPlant[]): Promise<readonly Outcome[]> {
      this.#waiting.push(batch);
      const due = this.#waiting.length > 20 ? this.#waiting.shift() : undefined;
      if (due !== undefined) await this.inner.add(due);
      return batch.map(() => 'created');
    }

    override close(): Promise<void> {
      return this.inner.close();
    }
  }

  it('finds the lost plants', async () => {
    const service = await startService({ repository: (inner) => new FaultyRepository(inner) });
    const workload = new Workload(() => service.url, { token: TOKEN, clients: 16, seed: 1 });
    await workload.operations(1_000);
    await workload.stop();
    const violations = violationsIn(workload.history, storeFrom(await service.rows()));
    await service.close();

    expect(violations).toContainEqual(expect.stringMatching(/acknowledged and is not stored/));
    expect(violations).toContainEqual(expect.stringMatching(/more than one content was acknowledged/));
  });
});
