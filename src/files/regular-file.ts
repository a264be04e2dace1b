import { readFileSync, statSync } from 'node:fs';
import { inShell } from '../operator-text.js';
import { badUsage } from '../operator-error.js';
import { explainReadError } from './file-errors.js';

/**
 * The rights of other users to a file:
 *
 * - `public`: they may do anything, as with a certificate
 * - `trusted`: they may read the file, which decides what a command does, and so must belong to this user or to root
 * - `secret`: they may do nothing, but the file's group may read it, as with mounted secrets of Kubernetes and systemd
 */
export type Privacy = 'public' | 'trusted' | 'secret';

/**
 * Reads a file that the configuration names. It must be a regular file: reading a pipe or a device could wait for ever.
 *
 * @param ifMissing advice for the operator if there is no such file
 * @throws {OperatorError} if the file cannot be read, or if other users may do too much with it
 */
export function readRegularFile(file: string, privacy: Privacy, ifMissing?: string): Buffer {
  try {
    assertPrivacy(file, privacy);
    return readFileSync(file);
  } catch (error) {
    throw explainReadError(file, error, ifMissing);
  }
}

/** @throws {OperatorError} if it is not a regular file, or if other users may do too much with it */
export function assertPrivacy(file: string, privacy: Privacy): void {
  const stats = statSync(file);
  if (!stats.isFile()) throw badUsage(`${file} is not a regular file`);
  // Windows has neither modes nor user ids.
  if (process.platform === 'win32' || privacy === 'public') return;
  if (privacy === 'secret' && (stats.mode & 0o027) !== 0) {
    throw badUsage(`${file} can be read or written by other users: chmod 600 ${inShell(file)}`);
  }
  if (privacy === 'trusted' && (stats.mode & 0o022) !== 0) {
    throw badUsage(`${file} can be written by other users: chmod go-w ${inShell(file)}`);
  }
  if (privacy === 'trusted' && stats.uid !== 0 && stats.uid !== process.getuid?.()) {
    throw badUsage(`${file} belongs to another user, who must not decide what this program does`);
  }
}
