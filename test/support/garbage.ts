import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Runs full garbage collections, so that memory can be compared. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  // The first may only end an incremental collection that has begun before.
  for (let count = 0; count < 3; count += 1) collect();
}
