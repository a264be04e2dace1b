import { setImmediate, setTimeout } from 'node:timers/promises';

/** Milliseconds after which a test fails: less than the time limit of Jest, which does not end a loop. */
const LIMIT = 120_000;

/** Questions in a row, before pauses leave the processor to the service. */
const IN_A_ROW = 50;

/** Milliseconds of a pause: with 2, the questions take a tenth of the time of the processor that the suite needs. */
const PAUSE = 10;

/**
 * Asks again and again until a condition holds.
 *
 * @throws {Error} if it does not hold in time
 */
export async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + LIMIT;
  for (let asked = 1; !(await condition()); asked += 1) {
    if (performance.now() > end) throw new Error(`Waited ${LIMIT} ms in vain until ${what}`);
    await (asked < IN_A_ROW ? setImmediate() : setTimeout(PAUSE));
  }
}

/**
 * Waits for an event, which Jest would not name when the test takes too long.
 *
 * @param what returns what did not happen, with all that helps to find the cause
 * @throws {Error} if it does not come in time
 */
export async function inTime<Result>(event: Promise<Result>, what: () => string): Promise<Result> {
  const over = new AbortController();
  const late = setTimeout(LIMIT, undefined, { signal: over.signal, ref: false }).then(() => {
    throw new Error(`Waited ${LIMIT} ms in vain until ${what()}`);
  });
  try {
    return await Promise.race([event, late]);
  } finally {
    over.abort();
  }
}
