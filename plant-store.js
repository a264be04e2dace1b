#!/usr/bin/env -S node --max-semi-space-size=16 --no-allocation-site-pretenuring --heap-growing-percent=30
import { existsSync } from 'node:fs';
import { join } from 'node:path';

if (existsSync(join(import.meta.dirname, 'dist/main.js'))) {
  await import('./dist/main.js');
} else {
  console.error('plant-store: this clone has not been built: run npm ci and npm run build in it');
  process.exitCode = 1;
}
