import { setFlagsFromString } from 'node:v8';

/** Sets flags of V8 that save the service memory and CPU. Call it before the code of the service compiles. */
export function setHeapFlags(): void {
  // V8's allocation-site pretenuring moves queued requests to old space, and full collections then cost 20 % CPU.
  setFlagsFromString('--no-allocation-site-pretenuring');
  collectEarlier();
}

/**
 * Lets V8 collect garbage earlier: input that the service has discarded, and batches that a command has stored. A copy to
 * PostgreSQL takes 126 MB instead of 148. Without it, clients that do not read large answers (test/http/memory) make
 * the service take 358 MB on Node 24 instead of 261.
 */
export function collectEarlier(): void {
  setFlagsFromString('--heap-growing-percent=30');
}
