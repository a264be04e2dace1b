import { chmodSync, renameSync, writeFileSync } from 'node:fs';
import { digestToken } from '../../src/auth/static-tokens.js';
import { formatToken } from '../../src/auth/token-file.js';
import { ask } from './raw-client.js';
import { until } from './until.js';

/** Returns a line of a token file. */
export function line(name: string, token: string, expires?: Date): string {
  return formatToken({ name, digest: digestToken(token), expires });
}

/** Replaces a token file atomically, as editors and the command `token` do. */
export function put(file: string, text: string, mode = 0o600): void {
  writeFileSync(`${file}.new`, text);
  chmodSync(`${file}.new`, mode);
  renameSync(`${file}.new`, file);
}

/** Sends requests until one has this result. */
export function untilAnswer(expected: number, url: string, token: string): Promise<void> {
  return until(`a request gets ${expected}`, async () => (await ask(url, token)) === expected);
}
