/** A token file that cannot be used; the message is one line for the operator. */
export class TokenFileError extends Error {
  override readonly name = 'TokenFileError';
}
