import { ERROR_TABLE, type ErrorNumber } from './error-table.js';

/** A failure as the contract has it: thrown anywhere, answered as 400 with this number and message. */
export class ContractException extends Error {
  /**
   * @param error its row in the error table
   * @param message what was wrong and what would be right, in one line; the table's text by default
   * @param headers what the answer carries beside its body
   */
  constructor(
    readonly error: ErrorNumber,
    message: string = ERROR_TABLE[error].message,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
    this.name = 'ContractException';
  }

  /** The Error object of the contract. */
  get body(): { error: number; message: string } {
    return { error: this.error, message: this.message };
  }
}
