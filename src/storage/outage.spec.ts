import { jest } from '@jest/globals';
import { skip } from '../../test/support/clocks.js';
import { Outage } from './outage.js';

const TIMEOUT = 60_000;

describe('Outage', () => {
  let outage: Outage;

  beforeEach(() => {
    outage = new Outage(TIMEOUT);
  });

  afterEach(() => jest.restoreAllMocks());

  it('shortens the retries after a failure', () => {
    expect(outage.retryFor).toBe(TIMEOUT);
    outage.failed();

    expect(outage.retryFor).toBe(TIMEOUT / 50);
  });

  it('is over after a success', () => {
    outage.failed();
    outage.succeeded();

    expect(outage.retryFor).toBe(TIMEOUT);
  });

  it('is over when nothing has failed for as long as the timeout', () => {
    outage.failed();
    skip(TIMEOUT / 2);
    outage.failed();
    skip(TIMEOUT / 2);
    expect(outage.retryFor).toBe(TIMEOUT / 50);
    skip(TIMEOUT);

    expect(outage.retryFor).toBe(TIMEOUT);
  });
});
