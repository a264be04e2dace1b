#!/usr/bin/env -S node --max-semi-space-size=8 --no-allocation-site-pretenuring --heap-growing-percent=30
import { existsSync } from 'node:fs';
import { join } from 'node:path';

// npm packs this file for the module as well, but not the service.
if (existsSync(join(import.meta.dirname, 'dist/main.js'))) {
  await import('./dist/main.js');
} else {
  console.error('plant-store: only a clone of the repository has the service: run npm ci and npm run build there');
  process.exitCode = 1;
}
