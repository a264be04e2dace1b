import { retry } from './retry.js';

/** Rejects a number of times. */
class UnreliableDatabase {
  attempts = 0;

  constructor(private readonly failures: number) {}

  readonly write = async (): Promise<string> => {
    this.attempts += 1;
    await Promise.resolve();
    if (this.attempts <= this.failures) throw new Error(`locked, attempt ${this.attempts}`);
    return 'stored';
  };
}

describe('retry', () => {
  const options = { timeout: 60_000, pause: 25, isTransient: () => true };

  it('tries again after a pause until the work succeeds, and tells each error', async () => {
    const database = new UnreliableDatabase(2);
    const errors: string[] = [];
    const onPause = (error: unknown): void => void errors.push((error as Error).message);
    const began = performance.now();

    expect(await retry(database.write, { ...options, onPause })).toBe('stored');
    expect(errors).toEqual(['locked, attempt 1', 'locked, attempt 2']);
    // Node's timers may be a millisecond early.
    expect(performance.now() - began).toBeGreaterThan(2 * 24);
  });

  it('also repeats work that returns no promise', async () => {
    let attempts = 0;
    const write = (): string => {
      attempts += 1;
      if (attempts === 1) throw new Error('locked');
      return 'stored';
    };

    expect(await retry(write, options)).toBe('stored');
  });

  it.each([
    ['is not transient', 1, { ...options, isTransient: () => false }],
    ['comes when the time is over after a pause', 1, { ...options, timeout: 20 }],
    ['is the last one in the time', 2, { ...options, timeout: 450, pause: 300 }],
  ])('ends with an error that %s', async (_, attempts, settings) => {
    const database = new UnreliableDatabase(Infinity);

    await expect(retry(database.write, settings)).rejects.toThrow(`locked, attempt ${attempts}`);
    expect(database.attempts).toBe(attempts);
  });
});
