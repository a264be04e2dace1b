import { until } from '../../test/support/until.js';
import { Retry } from './retry.js';

class LockedError extends Error {}

function isLocked(error: unknown): boolean {
  return error instanceof LockedError;
}

/** Fails a number of times. */
class UnreliableDatabase {
  attempts = 0;
  failures = Infinity;
  /** Lets time pass in an attempt. */
  pass = (): void => undefined;

  write(): string {
    this.attempts += 1;
    this.pass();
    this.failures -= 1;
    if (this.failures >= 0) throw new LockedError();
    return 'stored';
  }
}

describe('Retry', () => {
  let database: UnreliableDatabase;
  let run: () => Promise<string>;

  /** Lets an outage be final after this many milliseconds. */
  function giveUpAfter(timeout: number): void {
    const retry = new Retry(timeout, { isTransient: isLocked, pause: () => 1 });
    run = () => retry.run(() => database.write());
  }

  beforeEach(() => {
    database = new UnreliableDatabase();
  });

  it('tries again until the work succeeds', async () => {
    giveUpAfter(10_000);
    database.failures = 3;

    expect(await run()).toBe('stored');
    expect(database.attempts).toBe(4);
  });

  it('does not try again after an error that is not transient', async () => {
    giveUpAfter(10_000);
    database.write = () => {
      database.attempts += 1;
      throw new TypeError('a defect');
    };

    await expect(run()).rejects.toThrow('a defect');
    expect(database.attempts).toBe(1);
  });

  it('waits between two attempts as long as it is told to', async () => {
    const pauses = [20, 30];
    const retry = new Retry(10_000, { isTransient: () => true, pause: () => pauses.shift() ?? 0 });
    database.failures = 2;
    const began = performance.now();

    expect(await retry.run(() => database.write())).toBe('stored');
    expect(pauses).toEqual([]);
    expect(performance.now() - began).toBeGreaterThan(48);
  });

  it('reports each transient failure, with the time since the outage began', async () => {
    const times: number[] = [];
    const onFailure = (error: unknown, lasted: number): void => {
      expect(error).toBeInstanceOf(LockedError);
      times.push(lasted);
    };
    const retry = new Retry(10_000, { isTransient: isLocked, pause: () => 20 });
    database.failures = 2;
    await retry.run(() => database.write(), onFailure);

    expect(times).toHaveLength(2);
    expect(times[1]).toBeGreaterThan(18);
  });

  it('gives up after the timeout, counted from the first failure of an outage, with the last error', async () => {
    giveUpAfter(500);
    await expect(run()).rejects.toThrow(LockedError);
    database.attempts = 0;

    await expect(run()).rejects.toThrow(LockedError);
    expect(database.attempts).toBe(1);
  });

  it('takes the failure of an attempt that ends after the timeout for no outage', async () => {
    giveUpAfter(100);
    const began = performance.now();
    database.pass = () => {
      while (performance.now() - began <= 100);
    };
    await expect(run()).rejects.toThrow(LockedError);
    database.pass = () => undefined;
    database.failures = 1;

    expect(await run()).toBe('stored');
  });

  it('forgets an outage when work succeeds', async () => {
    giveUpAfter(500);
    await expect(run()).rejects.toThrow(LockedError);
    database.failures = 0;
    await run();
    database.failures = 1;

    expect(await run()).toBe('stored');
  });

  it('forgets an outage when nothing has failed for as long as the timeout', async () => {
    giveUpAfter(100);
    await expect(run()).rejects.toThrow(LockedError);
    const ended = performance.now();
    await until('the timeout has passed', () => performance.now() - ended > 100);
    database.failures = 1;

    expect(await run()).toBe('stored');
  });
});
