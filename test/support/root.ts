import { join } from 'node:path';

/** The directory of the repository. */
export const ROOT = join(import.meta.dirname, '../..');
