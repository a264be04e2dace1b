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
  const options = { retryFor: 10_000, isTransient, pause: () => 1 };
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

  it('waits between two attempts as long as it is told to', async () => {
    const pauses = [20, 30];
    database.failures = 2;
    const began = performance.now();

    expect(await retry(database.write, { ...options, pause: () => pauses.shift() ?? 0 })).toBe('stored');
    expect(pauses).toEqual([]);
    expect(performance.now() - began).toBeGreaterThan(48);
  });

  it('reports each transient failure, with the time since the first attempt began', async () => {
    const times: number[] = [];
    const onFailure = (error: unknown, lasted: number): void => {
      expect(error).toBeInstanceOf(LockedError);
      times.push(lasted);
    };
    database.failures = 2;
    await retry(database.write, { ...options, pause: () => 20, onFailure });

    expect(times).toHaveLength(2);
    expect(times[1]).toBeGreaterThan(18);
  });

  it('gives up with the last error when its time would be over before the next attempt', async () => {
    await expect(retry(database.write, { ...options, retryFor: 50, pause: () => 20 })).rejects.toThrow(LockedError);
    expect(database.attempts).toBeGreaterThan(1);
    database.attempts = 0;

    await expect(retry(database.write, { ...options, retryFor: 50, pause: () => 60 })).rejects.toThrow(LockedError);
    expect(database.attempts).toBe(1);
  });
});
