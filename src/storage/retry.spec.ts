import { until } from '../../test/support/until.js';
import { Outage, retry } from './retry.js';

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
  const options = { patience: 10_000, isTransient, pause: () => 1 };
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

  it('gives up with the last error when the patience would be over before the next attempt', async () => {
    await expect(retry(database.write, { ...options, patience: 50, pause: () => 20 })).rejects.toThrow(LockedError);
    expect(database.attempts).toBeGreaterThan(1);
    database.attempts = 0;

    await expect(retry(database.write, { ...options, patience: 50, pause: () => 60 })).rejects.toThrow(LockedError);
    expect(database.attempts).toBe(1);
  });
});

const TIMEOUT = 100;

describe('Outage', () => {
  let outage: Outage;
  /** The patience that each run was told. */
  let patiences: number[];

  function fail(error: Error = new LockedError()): Promise<unknown> {
    return outage
      .run((patience) => {
        patiences.push(patience);
        return Promise.reject(error);
      })
      .catch((reason: unknown) => expect(reason).toBe(error));
  }

  async function succeed(): Promise<void> {
    const run = (patience: number): Promise<string> => {
      patiences.push(patience);
      return Promise.resolve('stored');
    };
    expect(await outage.run(run)).toBe('stored');
  }

  beforeEach(() => {
    outage = new Outage(TIMEOUT, (error) => error instanceof LockedError);
    patiences = [];
  });

  it('makes further runs brief after one has failed with a transient error', async () => {
    await fail();
    await fail();
    await fail();

    expect(patiences).toEqual([TIMEOUT, TIMEOUT / 50, TIMEOUT / 50]);
  });

  it('does not begin with an error that is not transient', async () => {
    await fail(new TypeError('a defect'));
    await succeed();

    expect(patiences).toEqual([TIMEOUT, TIMEOUT]);
  });

  it('is over when a run succeeds', async () => {
    await fail();
    await succeed();
    await succeed();

    expect(patiences).toEqual([TIMEOUT, TIMEOUT / 50, TIMEOUT]);
  });

  it('is over when nothing has failed for as long as the timeout', async () => {
    await fail();
    await fail();
    const ended = performance.now();
    await until('the timeout has passed', () => performance.now() - ended > TIMEOUT);
    await succeed();

    expect(patiences).toEqual([TIMEOUT, TIMEOUT / 50, TIMEOUT]);
  });
});
