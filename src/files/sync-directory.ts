import { closeSync, fsyncSync, openSync } from 'node:fs';

/** Flushes a directory to disk, so that the names in it survive a power cut. Does nothing on Windows. */
export function syncDirectory(path: string): void {
  if (process.platform === 'win32') return;
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
