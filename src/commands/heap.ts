import { setFlagsFromString } from 'node:v8';

/**
 * Lets V8 collect earlier: input that the service discards, and batches that a command has stored. A copy to PostgreSQL
 * takes 126 MB, and 148 MB without it; 3,000 clients that send bodies without a token take 278 MB on Node 24, and 350 MB
 * without it (test/http/memory).
 */
export function collectEarlier(): void {
  setFlagsFromString('--heap-growing-percent=30');
}
