import { once } from 'node:events';
import { createServer } from 'node:net';

/** The service cannot listen on an address; the message is one line for the operator. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

/** Variables that set an address. */
interface AddressVariables {
  readonly host: 'HOST' | 'MANAGEMENT_HOST';
  readonly port: 'PORT' | 'MANAGEMENT_PORT';
}

export const PUBLIC_ADDRESS: AddressVariables = { host: 'HOST', port: 'PORT' };
export const MANAGEMENT_ADDRESS: AddressVariables = { host: 'MANAGEMENT_HOST', port: 'MANAGEMENT_PORT' };

/**
 * @param begin begins to listen
 * @throws {ListenError} if the system refuses the address
 */
export async function listen<Result>(
  variables: AddressVariables,
  host: string,
  port: number,
  begin: () => Promise<Result>,
): Promise<Result> {
  try {
    return await begin();
  } catch (cause) {
    if (!(cause instanceof Error && 'syscall' in cause && 'code' in cause)) throw cause;
    const code = String(cause.code);
    throw new ListenError(
      `${variables.host} and ${variables.port}: cannot listen on ${host}:${port} (${code}): ${advise(code, variables)}`,
      { cause },
    );
  }
}

/**
 * Refuses a host that is not an address of this machine. It takes any free port for a moment, so the service may be
 * running.
 *
 * @param port for the message alone
 * @throws {ListenError}
 */
export async function checkHost(variables: AddressVariables, host: string, port: number): Promise<void> {
  const server = createServer();
  await listen(variables, host, port, () => once(server.listen(0, host), 'listening'));
  server.close();
}

function advise(code: string, { host, port }: AddressVariables): string {
  switch (code) {
    case 'EADDRINUSE':
      return `set another ${port}, or stop the process that uses it`;
    case 'EACCES':
      return `this user may not use the port: set ${port} to one from 1024 on`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `the name cannot be resolved: set ${host} to an address of this machine, for example 127.0.0.1`;
    default:
      return `set ${host} to an address of this machine, for example 127.0.0.1`;
  }
}
