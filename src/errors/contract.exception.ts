import { ERROR_TABLE, type ErrorNumber, type ErrorRow } from './error-table.js';

/** A failure as the contract has it: thrown anywhere, answered as 400 with this number and message. */
export class ContractException extends Error {
  readonly headers: Readonly<Record<string, string>>;

  /**
   * @param error its row in the error table
   * @param message what was wrong and what would be right, in one line; the table's text by default
   * @param headers what the answer carries beside its body, and beside the table's headers
   */
  constructor(
    readonly error: ErrorNumber,
    message: string = ERROR_TABLE[error].message,
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
    const row: ErrorRow = ERROR_TABLE[error];
    this.headers = { ...row.headers, ...headers };
    this.name = 'ContractException';
  }

  /** The Error object of the contract. */
  get body(): { error: number; message: string } {
    return { error: this.error, message: this.message };
  }
}
