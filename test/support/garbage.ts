import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Collects what nobody holds any more, so that memory can be compared. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  // One may come upon a collection that has begun before, and ends that.
  for (let count = 0; count < 3; count += 1) collect();
}
