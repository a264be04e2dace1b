import { rmSync } from 'node:fs';
import process from 'node:process';

/** Removes what postgres-setup.js has made. */
export default function tearDown() {
  rmSync(process.env.POSTGRES_DATA, { recursive: true });
}
