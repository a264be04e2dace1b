import { jest } from '@jest/globals';

/** All timers but `setInterval`. */
const OTHER_TIMERS = [
  'Date',
  'hrtime',
  'nextTick',
  'performance',
  'queueMicrotask',
  'setImmediate',
  'setTimeout',
] as const;

/** Lets the tests of the suite advance the intervals of the service (`jest.advanceTimersByTime`), and no other timers. */
export function fakeIntervalsInEachTest(): void {
  beforeEach(() => void jest.useFakeTimers({ doNotFake: [...OTHER_TIMERS] }));
  afterEach(() => void jest.useRealTimers());
}
