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

const monotonic = performance.now.bind(performance);
const wall = Date.now.bind(Date);

/** Lets another second pass on the monotonic clock, after which the service may fetch keys again. */
export function skipSecond(): void {
  skip(1_000);
}

/** Lets more time pass on the monotonic clock. */
export function skip(milliseconds: number): void {
  const skipped = performance.now() - monotonic() + milliseconds;
  jest.spyOn(performance, 'now').mockImplementation(() => monotonic() + skipped);
}

/** Lets an hour pass on the wall clock. */
export function skipHour(): void {
  jest.spyOn(Date, 'now').mockImplementation(() => wall() + 3_600_000);
}
