import { Retry } from './retry.js';

class LockedError extends Error {}

/** Fails a number of times. */
class UnreliableDatabase {
  attempts = 0;
  failures = Infinity;

  write(): string {
    this.attempts += 1;
    this.failures -= 1;
    if (this.failures >= 0) throw new LockedError();
    return 'stored';
  }
}

describe('Retry', () => {
  let database: UnreliableDatabase;
  let run: (timeout: number) => Promise<string>;

  beforeEach(() => {
    database = new UnreliableDatabase();
    const retry = new Retry(
      (error) => error instanceof LockedError,
      () => 1,
    );
    run = (timeout) => retry.run(() => database.write(), timeout);
  });

  it('tries again until the work succeeds', async () => {
    database.failures = 3;

    expect(await run(10_000)).toBe('stored');
    expect(database.attempts).toBe(4);
  });

  it('gives up after the timeout, counted from the first failure of an outage, with the last error', async () => {
    await expect(run(20)).rejects.toThrow(LockedError);
    database.attempts = 0;

    await expect(run(20)).rejects.toThrow(LockedError);
    expect(database.attempts).toBe(1);
  });

  it('forgets an outage when work succeeds', async () => {
    await expect(run(20)).rejects.toThrow(LockedError);
    database.failures = 0;
    await run(20);
    database.failures = 1;

    expect(await run(10_000)).toBe('stored');
  });
});
