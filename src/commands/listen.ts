/** The service cannot listen on an address; the message is one line for the operator. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

/**
 * @param variables the names of those that set the address
 * @param begin begins to listen
 * @throws {ListenError} if the system refuses the address
 */
export async function listen<Result>(
  variables: string,
  address: string,
  begin: () => Promise<Result>,
): Promise<Result> {
  try {
    return await begin();
  } catch (cause) {
    if (!(cause instanceof Error && 'syscall' in cause && 'code' in cause)) throw cause;
    throw new ListenError(
      `${variables}: cannot listen on ${address} (${String(cause.code)}): set another address, ` +
        'or stop the process that uses it',
      { cause },
    );
  }
}
