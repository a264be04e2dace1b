import { HttpException, HttpStatus } from '@nestjs/common';
import { ERROR_TABLE, type ErrorNumber, type ErrorRow } from './error-table.js';

/** The Error object of the contract. */
export interface ErrorBody {
  readonly error: ErrorNumber;
  /** One line for people: what is wrong, and what would be right. */
  readonly message: string;
}

/** A failure, which the contract answers with status 400 and an Error object. */
export class ContractException extends HttpException {
  /** The headers that the answer carries with its body. */
  readonly headers: Readonly<Record<string, string>>;

  /**
   * @param error the number of its row in the error table
   * @param message defaults to the text of the table
   * @param headers added to those of the table
   */
  constructor(
    readonly error: ErrorNumber,
    message: string = ERROR_TABLE[error].message,
    headers: Readonly<Record<string, string>> = {},
  ) {
    const row: ErrorRow = ERROR_TABLE[error];
    super({ error, message } satisfies ErrorBody, HttpStatus.BAD_REQUEST);
    this.headers = { ...row.headers, ...headers };
  }

  override getResponse(): ErrorBody {
    return super.getResponse() as ErrorBody;
  }
}
