import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { createSecureContext, TLSSocket } from 'node:tls';
import pg from 'pg';
import { readPem } from '../../../test/support/certificates.js';
import { readDatabaseUrl, type PostgresUrl } from '../database-url.js';
import { isTransient, isUnavailable, PostgresPool } from './pool.js';

/** Runs a statement, and returns the error with which it fails. */
async function failureAt(url: string): Promise<unknown> {
  const pool = new PostgresPool(pg, readDatabaseUrl(url) as PostgresUrl, 60_000);
  try {
    return await pool.transact('SELECT 1').then(
      () => undefined,
      (error: unknown) => error,
    );
  } finally {
    await pool.close();
  }
}

describe('The sslmode of a URL', () => {
  /** For localhost and 127.0.0.1. */
  const CERTIFICATE = createSecureContext({ cert: readPem('first.crt'), key: readPem('first.key') });
  /** Messages of the protocol: https://www.postgresql.org/docs/current/protocol-message-formats.html */
  const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);
  const AUTHENTICATED_AND_READY = Buffer.from('R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I');
  const DONE_AND_READY = Buffer.from('C\0\0\0\x0dSELECT 0\0Z\0\0\0\x05I');

  let server: Server;
  let url: string;
  /** The protocol of the connection that has brought a statement. */
  let used: 'TLS' | 'clear text' | undefined;

  /** Speaks as much of PostgreSQL's protocol as one statement needs. */
  function serve(socket: Socket): void {
    socket.on('error', () => undefined);
    socket.once('data', (first: Buffer) => {
      if (first.equals(SSL_REQUEST)) {
        socket.write('S');
        serve(new TLSSocket(socket, { isServer: true, secureContext: CERTIFICATE }));
        return;
      }
      socket.write(AUTHENTICATED_AND_READY);
      socket.once('data', () => {
        used = socket instanceof TLSSocket ? 'TLS' : 'clear text';
        socket.write(DONE_AND_READY);
      });
    });
  }

  beforeEach(async () => {
    used = undefined;
    server = createServer(serve).listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `postgres://plants@127.0.0.1:${(server.address() as AddressInfo).port}/plants`;
  });

  afterEach(() => server.close());

  // The certificate does not have the name 127.1 of this machine.
  it.each([
    ['disable', '127.0.0.1', undefined, 'clear text'],
    ['require', '127.1', undefined, 'TLS'],
    ['require', '127.0.0.1', 'second', 'a refusal'],
    ['verify-ca', '127.1', 'first', 'TLS'],
    ['verify-ca', '127.0.0.1', 'second', 'a refusal'],
    ['verify-full', '127.0.0.1', 'first', 'TLS'],
    ['verify-full', '127.1', 'first', 'a refusal'],
    ['verify-full', '127.0.0.1', undefined, 'a refusal'],
  ])('%s of the server %s with sslrootcert %s leads to %s', async (mode, host, authority, end) => {
    const parameters = new URLSearchParams({ sslmode: mode });
    if (authority !== undefined) {
      const file = new URL(`../../../test/support/certificates/${authority}.crt`, import.meta.url);
      parameters.set('sslrootcert', fileURLToPath(file));
    }
    const error = await failureAt(`${url.replace('127.0.0.1', host)}?${parameters.toString()}`);

    expect(used ?? 'a refusal').toBe(end);
    if (end !== 'a refusal') return;
    expect(error).toMatchObject({ message: expect.stringContaining('certificate') as unknown });
    expect([isTransient(error), isUnavailable(error)]).toEqual([false, true]);
  });
});

describe('An error of PostgreSQL', () => {
  it.each([
    ['a lost connection', '08006', 'transient'],
    ['PgBouncer', '08P01', 'transient'],
    ['a standby', '25006', 'transient'],
    ['a transaction that took too long', '25P04', 'transient'],
    ['a serialization failure', '40001', 'transient'],
    ['a deadlock', '40P01', 'transient'],
    ['too many connections', '53300', 'transient'],
    ['a server that starts', '57P03', 'transient'],
    ['an unreachable node of a cluster', 'XX000', 'transient'],
    ['a wrong password', '28P01', 'lasting'],
    ['a missing database', '3D000', 'lasting'],
    ['a missing schema', '3F000', 'lasting'],
    ['a missing privilege', '42501', 'lasting'],
    ['a missing column', '42703', 'lasting'],
    ['a missing table', '42P01', 'lasting'],
    ['a full disk', '53100', 'lasting'],
    ['a database without connections', '55000', 'lasting'],
    ['a lock that was held for too long', '57014', 'lasting'],
    ['damage', 'XX001', 'lasting'],
    ['a text that is too long', '22001', 'of a plant, or a defect'],
    ['a CHECK', '23514', 'of a plant, or a defect'],
    ['a missing function', '42883', 'of a plant, or a defect'],
    ['RAISE in a trigger', 'P0001', 'of a plant, or a defect'],
  ])('such as %s (%s) is %s', (_, code, kind) => {
    const error = Object.assign(new pg.DatabaseError('its reason', 0, 'error'), { code });

    expect(isTransient(error)).toBe(kind === 'transient');
    expect(isUnavailable(error)).toBe(kind === 'transient' || kind === 'lasting');
  });

  it.each([
    ['transient', 'postgres://u@127.0.0.1:1/plants'],
    // Node tries all addresses of a name.
    ['transient', 'postgres://u@localhost:1/plants'],
    ['transient', 'postgres://u@localhost/plants?host=/nowhere'],
    ['lasting', 'postgres://u@127.0.0.1:1/plants?sslmode=verify-full&sslrootcert=/nowhere'],
    ['lasting', 'postgres://u@127.0.0.1:1/plants?sslmode=verify-ca'],
  ])('of the connection is %s: %s', async (kind, url) => {
    const error = await failureAt(url);

    expect(error).toMatchObject({ message: expect.stringMatching(/ECONNREFUSED|ENOENT|sslrootcert/) as unknown });
    expect([isTransient(error), isUnavailable(error)]).toEqual([kind === 'transient', true]);
  });
});
