import { once } from 'node:events';
import { createServer } from 'node:net';

/** The service cannot listen on an address; the message is one line for the operator. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

/**
 * Explains to the operator why the system refuses an address.
 *
 * @param variables the names of the variables that set the address
 * @param begin begins to listen
 * @returns the result of `begin`
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
    const code = String(cause.code);
    throw new ListenError(`${variables}: cannot listen on ${address} (${code}): ${advise(code)}`, { cause });
  }
}

/**
 * Refuses a host that is not an address of this machine. It takes any free port for a moment, so the service may be
 * running.
 *
 * @throws {ListenError}
 */
export async function checkHost(variable: string, host: string): Promise<void> {
  const server = createServer();
  await listen(variable, host, () => once(server.listen(0, host), 'listening'));
  server.close();
}

function advise(code: string): string {
  switch (code) {
    case 'EADDRINUSE':
      return 'set another address, or stop the process that uses it';
    case 'EACCES':
      return 'this user may not use the port: set one from 1024 on';
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'the name cannot be resolved: set an address of this machine, for example 127.0.0.1';
    default:
      return 'set an address of this machine, for example 127.0.0.1';
  }
}
