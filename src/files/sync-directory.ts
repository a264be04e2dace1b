import { closeSync, fsyncSync, openSync } from 'node:fs';

/** Makes new, renamed and removed names in a directory durable. Windows cannot open directories, and needs none of it. */
export function syncDirectory(path: string): void {
  if (process.platform === 'win32') return;
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
