import { closeSync, fstatSync, openSync, statSync, writeFileSync } from 'node:fs';
import { badUsage } from '../../operator-error.js';
import { alreadyExists, explainWriteError } from '../../files/file-errors.js';
import { assertFileName } from '../command-line.js';
import { printAboveProgress } from './progress.js';
import type { Row, RowReader } from './rows.js';

/** The file of --rejects. */
interface Target {
  readonly file: string;
  readonly descriptor: number;
}

/** Reports the rows that an import rejects: line and reason on stderr, or line, reason and the row itself in a file. */
export class Rejects {
  #hasHeader = false;

  /** @param target undefined for stderr */
  private constructor(
    private readonly target: Target | undefined,
    private readonly reader: RowReader,
  ) {}

  /**
   * @param file undefined for stderr
   * @param reader of the imported file, in whose format the rows are written
   * @throws {OperatorError} if the file is not empty, because it may be the imported file or the database
   */
  static open(file: string | undefined, reader: RowReader): Rejects {
    if (file === undefined) return new Rejects(undefined, reader);
    assertFileName(file);
    const descriptor = openForAppending(file);
    if (fstatSync(descriptor).size === 0) return new Rejects({ file, descriptor }, reader);
    closeSync(descriptor);
    throw alreadyExists(file, 'name another file for the rejected rows');
  }

  add(row: Row, reason: string): void {
    if (this.target === undefined) {
      printAboveProgress(`line ${row.line}: ${reason}`);
      return;
    }
    const header = this.#hasHeader ? '' : this.reader.rejectsHeader();
    const text = `${header}${this.reader.rejectedRow(row, reason)}`;
    this.#hasHeader = true;
    try {
      // If a full disk takes a part of the row, writeFileSync tries to write the rest, and fails. writeSync would not.
      writeFileSync(this.target.descriptor, text, 'latin1');
    } catch (error) {
      throw explainWriteError(this.target.file, error);
    }
  }
}

function openForAppending(file: string): number {
  try {
    // Opening a pipe would wait for its reader.
    if (statSync(file, { throwIfNoEntry: false })?.isFile() === false) {
      throw badUsage(`${file} is not a regular file: name another file for the rejected rows`);
    }
    return openSync(file, 'a', 0o600);
  } catch (error) {
    throw explainWriteError(file, error);
  }
}
