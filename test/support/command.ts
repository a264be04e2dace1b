import { join } from 'node:path';
import { ROOT } from './root.js';

/** The program, which `npm test` builds first. */
export const MAIN = join(ROOT, 'dist/main.js');

/** A command that has run to its end. */
export interface Run {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}
