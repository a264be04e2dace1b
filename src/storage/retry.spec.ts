import { retry } from './retry.js';

class LockedError extends Error {}

/** Fails a number of times. */
class UnreliableDatabase {
  attempts = 0;
  failures = Infinity;

  readonly write = (): string => {
    this.attempts += 1;
    this.failures -= 1;
    if (this.failures >= 0) throw new LockedError();
    return 'stored';
  };
}

describe('retry', () => {
  const isTransient = (error: unknown): boolean => error instanceof LockedError;
  const options = { timeout: 10_000, pause: 1, isTransient };
  let database: UnreliableDatabase;

  beforeEach(() => {
    database = new UnreliableDatabase();
  });

  it('tries again until the work succeeds', async () => {
    database.failures = 3;

    expect(await retry(database.write, options)).toBe('stored');
    expect(database.attempts).toBe(4);
  });

  it('does not try again after an error that is not transient', async () => {
    await expect(retry(database.write, { ...options, isTransient: () => false })).rejects.toThrow(LockedError);
    expect(database.attempts).toBe(1);
  });

  it('calls onPause with each error, and then waits', async () => {
    const errors: unknown[] = [];
    database.failures = 2;
    const began = performance.now();

    expect(await retry(database.write, { ...options, pause: 25, onPause: (error) => errors.push(error) })).toBe(
      'stored',
    );
    expect(errors).toEqual([expect.any(LockedError), expect.any(LockedError)]);
    // Node's timers may be a millisecond early.
    expect(performance.now() - began).toBeGreaterThan(47);
  });

  it('gives up with the last error when its time would be over before the next attempt', async () => {
    await expect(retry(database.write, { ...options, timeout: 50, pause: 20 })).rejects.toThrow(LockedError);
    expect(database.attempts).toBeGreaterThan(1);
    database.attempts = 0;

    await expect(retry(database.write, { ...options, timeout: 50, pause: 60 })).rejects.toThrow(LockedError);
    expect(database.attempts).toBe(1);
  });
});
