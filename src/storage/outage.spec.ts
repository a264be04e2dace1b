import { jest } from '@jest/globals';
import { skip } from '../../test/support/clocks.js';
import { Outage } from './outage.js';

const TIMEOUT = 60_000;

const LOCKED = new Error('it is locked');
const DEFECT = new Error('a defect');

describe('Outage', () => {
  let outage: Outage;

  beforeEach(() => {
    outage = new Outage(TIMEOUT, (error) => error === LOCKED);
  });

  afterEach(() => jest.restoreAllMocks());

  /** Runs a batch that fails. */
  async function fail(failure: Error): Promise<void> {
    await expect(outage.run(() => Promise.reject(failure))).rejects.toBe(failure);
  }

  /** Runs a batch that succeeds, and returns for how long it would have been retried. */
  function succeed(): Promise<number> {
    return outage.run((retryFor) => Promise.resolve(retryFor));
  }

  it('shortens the retries after a failure, and is over after a success', async () => {
    expect(await succeed()).toBe(TIMEOUT);
    await fail(LOCKED);

    expect(await succeed()).toBe(TIMEOUT / 50);
    expect(await succeed()).toBe(TIMEOUT);
  });

  it('does not begin with a defect', async () => {
    await fail(DEFECT);

    expect(await succeed()).toBe(TIMEOUT);
  });

  it('goes on until nothing has failed for as long as the timeout', async () => {
    await fail(LOCKED);
    skip(TIMEOUT / 2);
    await fail(LOCKED);
    skip(TIMEOUT / 2);
    await fail(DEFECT);

    expect(await succeed()).toBe(TIMEOUT / 50);
  });

  it('is over when nothing has failed for as long as the timeout', async () => {
    await fail(LOCKED);
    skip(TIMEOUT + 1);

    expect(await succeed()).toBe(TIMEOUT);
  });
});
