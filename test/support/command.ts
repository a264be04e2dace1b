import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './root.js';

/** The program, which `npm test` builds first. */
export const MAIN = join(ROOT, 'dist/main.js');

const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: { start: string } };

/** The flags of V8 with which `npm start` starts the service. */
export const V8_FLAGS: readonly string[] = scripts.start.split(' ').slice(1, -1);

/** A command that has run to its end. */
export interface Run {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}
