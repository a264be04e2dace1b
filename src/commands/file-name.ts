import { badUsage } from '../operator-error.js';

/** @throws {OperatorError} unless a file that is to be created can have this name */
export function assertFileName(name: string): void {
  if (name === '') throw badUsage('the name of the file is empty: name a file');
  if (name.endsWith('/')) throw badUsage(`${name} is the name of a directory: name a file`);
}
