import { setImmediate } from 'node:timers/promises';
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

  write(): string {
    this.attempts += 1;
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

  it('says once in an outage that it waits, with the first error that is worth it', async () => {
    const told: string[] = [];
    const retry = new Retry(10_000, {
      isTransient: () => true,
      pause: () => 1,
      isWorthTelling: isLocked,
      onWait: (error) => void told.push(String(error)),
    });
    const outages = [
      [new Error('a race'), new LockedError('first'), new LockedError('second')],
      [new Error('a race')],
      [new LockedError('third')],
    ];
    for (const errors of outages) {
      await retry.run(() => {
        const error = errors.shift();
        if (error !== undefined) throw error;
      });
    }

    expect(told).toEqual(['Error: first', 'Error: third']);
  });

  it('gives up after the timeout, counted from the first failure of an outage, with the last error', async () => {
    giveUpAfter(500);
    await expect(run()).rejects.toThrow(LockedError);
    database.attempts = 0;

    await expect(run()).rejects.toThrow(LockedError);
    expect(database.attempts).toBe(1);
  });

  it('gives up in time while an attempt goes on, with the error of the one before', async () => {
    const retry = new Retry(200, { isTransient: isLocked, pause: () => 1, leavesAttempt: true });
    const hangs = (): Promise<never> => new Promise(() => undefined);
    await expect(retry.run(hangs)).rejects.toThrow('it did not answer within 200 ms');

    const attempts = [() => Promise.reject(new LockedError()), hangs];
    await expect(retry.run(() => (attempts.shift() ?? hangs)())).rejects.toThrow(LockedError);
    expect(attempts).toEqual([]);
  });

  describe('after it has given work up', () => {
    const pauses: number[] = [];
    let retry: Retry;
    let failLate: (error: Error) => void;

    beforeEach(async () => {
      pauses.length = 0;
      const pause = (): number => pauses.push(1);
      retry = new Retry(100, { isTransient: isLocked, pause, leavesAttempt: true });
      const hangs = new Promise<never>((_resolve, reject) => (failLate = reject));
      await expect(retry.run(() => hangs)).rejects.toThrow('it did not answer');
    });

    it('does not try it again', async () => {
      failLate(new LockedError());
      await setImmediate();

      expect(pauses).toEqual([]);
    });

    it('takes its failure for no outage', async () => {
      failLate(new LockedError());
      await setImmediate();
      database.failures = 1;

      expect(await retry.run(() => database.write())).toBe('stored');
    });
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
