import { readFileSync, statSync } from 'node:fs';
import { badUsage, inShell } from '../operator-error.js';
import { explainReadError } from './file-errors.js';

/**
 * The rights of other users to a file:
 *
 * - `public`: they may do anything, as with a certificate
 * - `secret`: they may do nothing, but the file's group may read it, as with mounted secrets of Kubernetes and systemd
 */
export type Privacy = 'public' | 'secret';

/**
 * Reads a file that the configuration names. It must be a regular file: reading a pipe or a device could wait for ever.
 *
 * @param ifMissing advice for the operator if there is no such file
 * @throws {OperatorError} if the file cannot be read, or if other users may do too much with it
 */
export function readRegularFile(file: string, privacy: Privacy, ifMissing?: string): Buffer {
  try {
    const stats = statSync(file);
    if (!stats.isFile()) throw badUsage(`${file} is not a regular file`);
    // Windows has no modes.
    if (privacy === 'secret' && process.platform !== 'win32' && (stats.mode & 0o027) !== 0) {
      throw badUsage(`${file} can be read or written by other users: chmod 600 ${inShell(file)}`);
    }
    return readFileSync(file);
  } catch (error) {
    throw explainReadError(file, error, ifMissing);
  }
}
