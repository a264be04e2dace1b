import { until } from '../../test/support/until.js';
import { Outage } from './outage.js';

const TIMEOUT = 100;

class LockedError extends Error {}

describe('Outage', () => {
  let outage: Outage;
  /** What each run was told. */
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
