import { setFlagsFromString } from 'node:v8';

/**
 * Turns off V8's allocation-site pretenuring, which moves queued requests to old space: full collections then cost 20 %
 * CPU. Call it before the code of the service compiles.
 */
export function keepRequestsYoung(): void {
  setFlagsFromString('--no-allocation-site-pretenuring');
}

/** Lets V8 collect batches earlier that a command has stored: a copy to PostgreSQL takes 126 MB instead of 148. */
export function collectEarlier(): void {
  setFlagsFromString('--heap-growing-percent=30');
}
