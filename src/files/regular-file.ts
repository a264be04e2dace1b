import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats, statSync } from 'node:fs';
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

/** Greatest length of a file in bytes: 16 MiB. Reading gigabytes would block all clients, and take as much memory. */
const MAX_LENGTH = 16_777_216;

/**
 * Reads a file that the configuration names. It must be a regular file: reading a pipe or a device could wait for ever.
 *
 * @param ifMissing advice for the operator if there is no such file
 * @throws {OperatorError} if the file cannot be read, or if other users may do too much with it
 */
export function readRegularFile(file: string, privacy: Privacy, ifMissing?: string): Buffer {
  let descriptor: number | undefined;
  try {
    // With O_NONBLOCK, opening a pipe does not wait for its writer.
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    assertUsable(file, fstatSync(descriptor), privacy);
    return readFileSync(descriptor);
  } catch (error) {
    throw explainReadError(file, error, ifMissing);
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** @throws {OperatorError} if other users may do too much with a file that has been read */
export function assertPrivacy(file: string, privacy: Privacy): void {
  assertUsable(file, statSync(file), privacy);
}

function assertUsable(file: string, stats: Stats, privacy: Privacy): void {
  if (!stats.isFile()) throw badUsage(`${file} is not a regular file`);
  if (stats.size > MAX_LENGTH) throw badUsage(`${file} is larger than 16 MiB: name a smaller file`);
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
