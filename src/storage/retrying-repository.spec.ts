import type { Outcome, StoredPlant } from './plant-repository.js';
import { type Failure, RetryingRepository } from './retrying-repository.js';

const PLANT: StoredPlant = { id: 1n, name: 'Monstera' };

class UnreliableRepository extends RetryingRepository {
  /** The attempts that fail from now on. */
  failures = 0;

  override close(): Promise<void> {
    return Promise.resolve();
  }

  protected override attempt(batch: readonly StoredPlant[]): readonly Outcome[] {
    this.tryToWrite();
    return batch.map(() => 'created');
  }

  protected override tryToWrite(): void {
    this.failures -= 1;
    if (this.failures >= 0) throw new Error('the database is locked');
  }

  protected override failureOf(): Failure {
    return 'transient';
  }
}

describe('RetryingRepository', () => {
  it('retries a batch again after an outage whose end a check has found', async () => {
    const repository = new UnreliableRepository(50);
    repository.failures = Infinity;
    await expect(repository.add([PLANT])).rejects.toThrow('the database is locked');
    repository.failures = 0;
    await repository.check();

    repository.failures = 1;

    expect(await repository.add([PLANT])).toEqual(['created']);
  });
});
