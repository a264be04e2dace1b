import { closeSync, fstatSync, openSync, statSync, writeFileSync } from 'node:fs';
import { badUsage, OperatorError } from '../../operator-error.js';
import { unwritable } from '../../files/file-errors.js';
import { assertFileName } from '../file-name.js';
import { printAboveProgress } from './progress.js';
import type { Row, RowReader } from './rows.js';

/** The file of --rejects. */
interface Target {
  readonly file: string;
  readonly descriptor: number;
}

/** Reports the rows that an import rejects: line and reason on stderr, or these and the row itself in a file. */
export class Rejects {
  #hasHeader = false;

  /** @param target undefined for stderr */
  private constructor(private readonly target: Target | undefined) {}

  /**
   * @param file undefined for stderr
   * @throws {OperatorError} if the file is not empty: it may be that of the plants, or the database
   */
  static open(file: string | undefined): Rejects {
    if (file === undefined) return new Rejects(undefined);
    assertFileName(file);
    const descriptor = openForAppending(file);
    if (fstatSync(descriptor).size === 0) return new Rejects({ file, descriptor });
    closeSync(descriptor);
    throw new OperatorError(`${file} already exists: name another file for the rejected rows`);
  }

  add(row: Row, reason: string, reader: RowReader): void {
    if (this.target === undefined) {
      printAboveProgress(`line ${row.line}: ${reason}`);
      return;
    }
    const text = `${this.#hasHeader ? '' : reader.rejectsHeader()}${reader.reject(row, reason)}`;
    this.#hasHeader = true;
    try {
      // Unlike writeSync, it writes the rest, or fails, if a full disk takes a part of the row.
      writeFileSync(this.target.descriptor, text, 'latin1');
    } catch (error) {
      throw unwritable(this.target.file, error);
    }
  }
}

function openForAppending(file: string): number {
  try {
    // To open a pipe would wait for its reader.
    if (statSync(file, { throwIfNoEntry: false })?.isFile() === false) {
      throw badUsage(`${file} is not a regular file: name another file for the rejected rows`);
    }
    return openSync(file, 'a', 0o600);
  } catch (error) {
    throw unwritable(file, error);
  }
}
