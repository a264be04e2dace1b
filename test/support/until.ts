import { setImmediate } from 'node:timers/promises';

/** Milliseconds after which a test fails: less than the time limit of Jest, which does not end a loop. */
const LIMIT = 60_000;

/**
 * Asks again and again until a condition holds.
 *
 * @throws {Error} if it does not hold in time
 */
export async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + LIMIT;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`Waited ${LIMIT} ms in vain until ${what}`);
    await setImmediate();
  }
}
