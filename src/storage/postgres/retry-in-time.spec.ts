import { describePostgresError, isTransient } from './errors.js';
import { retryInTime } from './retry-in-time.js';

describe('retryInTime', () => {
  const silent = (): Promise<never> => new Promise<never>(() => undefined);
  const refused = Object.assign(new Error('connection refused'), { code: 'ECONNREFUSED' });

  it('gives up while its first attempt goes on', async () => {
    const error: unknown = await retryInTime(silent, { timeout: 50 }).catch((reason: unknown) => reason);

    expect(describePostgresError(error)).toBe('it did not answer within 50 ms; check its server and its URL');
    expect(isTransient(error)).toBe(true);
  });

  it('gives up while a later attempt goes on, with the error of the last one that has ended', async () => {
    let attempts = 0;
    const work = (): Promise<never> => {
      attempts += 1;
      return attempts === 1 ? Promise.reject(refused) : silent();
    };

    await expect(retryInTime(work, { timeout: 100 })).rejects.toBe(refused);
    expect(attempts).toBe(2);
  });

  it('begins no attempt after the time for retries', async () => {
    const began = performance.now();

    await expect(retryInTime(() => Promise.reject(refused), { timeout: 60_000, retryFor: 20 })).rejects.toBe(refused);
    expect(performance.now() - began).toBeLessThan(30_000);
  });
});
