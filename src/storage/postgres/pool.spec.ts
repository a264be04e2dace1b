import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { createSecureContext, TLSSocket } from 'node:tls';
import pg from 'pg';
import { readPem } from '../../../test/support/certificates.js';
import { until } from '../../../test/support/until.js';
import { parseDatabaseUrl, type PostgresUrl } from '../database-url.js';
import { describe as explain, isTransient, isUnavailable, PostgresPool } from './pool.js';

/** Milliseconds that a transaction may take. */
const TIMEOUT = 1_000;

function poolOf(url: string, timeout = TIMEOUT): PostgresPool {
  return new PostgresPool(pg, parseDatabaseUrl(url) as PostgresUrl, timeout);
}

/** Returns a message of the protocol (https://www.postgresql.org/docs/current/protocol-message-formats.html). */
function message(type: string, content: Buffer | string): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(4 + Buffer.byteLength(content));
  return Buffer.concat([Buffer.from(type), length, Buffer.from(content)]);
}

const AUTHENTICATED = message('R', '\0\0\0\0');
const READY = message('Z', 'I');
const NO_FIELDS = message('T', '\0\0');

/** Asks whether the server has TLS. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/** For localhost and 127.0.0.1. */
const CERTIFICATE = createSecureContext({ cert: readPem('first.crt'), key: readPem('first.key') });

/** Speaks as much of PostgreSQL's protocol as these tests need. */
class ProtocolServer {
  /** Open connections. */
  readonly sockets = new Set<Socket>();
  readonly statements: string[] = [];
  answersStatements = true;
  /** True once a connection has used TLS. */
  isEncrypted = false;
  readonly #server: Server = createServer((socket) => this.#serve(socket));

  async start(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `postgres://plants@127.0.0.1:${(this.#server.address() as AddressInfo).port}/plants`;
  }

  cutAll(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  stop(): void {
    this.#server.close();
    this.cutAll();
  }

  #serve(socket: Socket): void {
    this.sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => this.sockets.delete(socket));
    socket.once('data', (first: Buffer) => {
      if (first.equals(SSL_REQUEST)) {
        socket.write('S');
        this.isEncrypted = true;
        this.#serve(new TLSSocket(socket, { isServer: true, secureContext: CERTIFICATE }));
        return;
      }
      socket.write(Buffer.concat([AUTHENTICATED, READY]));
      socket.on('data', (bytes) => {
        if (bytes.toString('latin1', 0, 1) === 'Q') this.#answer(socket, bytes.toString('utf8', 5, bytes.length - 1));
      });
    });
  }

  #answer(socket: Socket, text: string): void {
    this.statements.push(text);
    if (!this.answersStatements) return;
    const results = text.split(';').map(() => [NO_FIELDS, message('C', 'SELECT 0\0')]);
    socket.write(Buffer.concat([...results.flat(), READY]));
  }
}

describe('PostgresPool', () => {
  let server: ProtocolServer;
  let pool: PostgresPool;

  beforeEach(async () => {
    server = new ProtocolServer();
    pool = poolOf(await server.start());
  });

  afterEach(async () => {
    const closed = pool.close();
    server.stop();
    await closed;
  });

  it('lets the server cancel a statement before the client gives up', async () => {
    await pool.transact('SELECT 1');
    await pool.transact('SELECT 2', 50);

    expect(server.statements).toEqual([
      'SET LOCAL statement_timeout = 800; SELECT 1',
      'SET LOCAL statement_timeout = 40; SELECT 2',
    ]);
    expect(server.sockets.size).toBe(1);
  });

  it('closes a connection whose statement is not answered in time', async () => {
    server.answersStatements = false;
    const began = performance.now();
    await expect(pool.transact('SELECT 1')).rejects.toThrow('Query read timeout');
    // Node's timers may be a millisecond early.
    expect(performance.now() - began).toBeGreaterThan(TIMEOUT - 2);
    await until('the connection is closed', () => server.sockets.size === 0);

    server.answersStatements = true;
    expect(await pool.transact('SELECT 2')).toEqual([]);
  });

  it('goes on after the end of an idle connection', async () => {
    await pool.transact('SELECT 1');
    server.cutAll();
    await until('the connection has ended', () => server.sockets.size === 0);

    await until('statements are answered again', () =>
      pool.transact('SELECT 2').then(
        () => true,
        () => false,
      ),
    );
  });
});

describe('The sslmode of a URL', () => {
  let server: ProtocolServer;
  let url: string;

  beforeEach(async () => {
    server = new ProtocolServer();
    url = await server.start();
  });

  afterEach(() => server.stop());

  /** Runs a statement. */
  async function run(mode: string, host: string, authority?: 'first' | 'second'): Promise<void> {
    const file =
      authority && fileURLToPath(new URL(`../../../test/support/certificates/${authority}.crt`, import.meta.url));
    const parameters = new URLSearchParams({ sslmode: mode, ...(file !== undefined && { sslrootcert: file }) });
    const pool = poolOf(`${url.replace('127.0.0.1', host)}?${parameters.toString()}`, 60_000);
    try {
      await pool.transact('SELECT 1');
    } finally {
      await pool.close();
    }
  }

  // The certificate does not have the name 127.1 of this machine.
  it.each([
    ['disable', '127.0.0.1', undefined, 'no TLS'],
    ['require', '127.1', undefined, 'TLS'],
    ['require', '127.0.0.1', 'second', 'a refusal'],
    ['verify-ca', '127.1', 'first', 'TLS'],
    ['verify-ca', '127.0.0.1', 'second', 'a refusal'],
    ['verify-full', '127.0.0.1', 'first', 'TLS'],
    ['verify-full', '127.1', 'first', 'a refusal'],
    ['verify-full', '127.0.0.1', 'second', 'a refusal'],
    ['verify-full', '127.0.0.1', undefined, 'a refusal'],
  ] as const)('%s of the server %s with sslrootcert %s leads to %s', async (mode, host, authority, end) => {
    const running = run(mode, host, authority);

    if (end === 'a refusal') {
      const error = await running.catch((reason: unknown) => reason);
      expect(error).toMatchObject({ message: expect.stringContaining('certificate') as unknown });
      expect(isTransient(error)).toBe(false);
    } else await running;
    expect(server.statements).toHaveLength(end === 'a refusal' ? 0 : 1);
    expect(server.isEncrypted).toBe(end !== 'no TLS');
  });
});

describe('An error of PostgreSQL', () => {
  /** Returns an error of the server. */
  function errorOf(code: string): Error {
    return Object.assign(new pg.DatabaseError('its reason', 0, 'error'), { code });
  }

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
    expect(isTransient(errorOf(code))).toBe(kind === 'transient');
    expect(isUnavailable(errorOf(code))).toBe(kind === 'transient' || kind === 'lasting');
  });

  it('is explained where its message misleads', () => {
    expect(explain(new Error('permission denied for schema public'))).toBe(
      'permission denied for schema public; make this user the owner of the database, or GRANT it CREATE on the schema',
    );
    expect(explain(new Error('The server does not support SSL connections'))).toMatch(
      /; check sslmode and sslrootcert/,
    );
    expect(explain(errorOf('3D000'))).toBe('its reason');
  });

  it.each<[kind: 'transient' | 'lasting', url: string]>([
    ['transient', 'postgres://u@127.0.0.1:1/plants'],
    // Node tries all addresses of a name, and has an error without a message for them.
    ['transient', 'postgres://u@localhost:1/plants'],
    ['transient', 'postgres://u@localhost/plants?host=/nowhere'],
    ['lasting', 'postgres://u@127.0.0.1:1/plants?sslmode=verify-full&sslrootcert=/nowhere'],
    ['lasting', 'postgres://u@127.0.0.1:1/plants?sslmode=verify-ca'],
  ])('of the connection is %s: %s', async (kind, url) => {
    const pool = poolOf(url);
    const error = await pool.transact('SELECT 1').catch((reason: unknown) => reason);
    await pool.close();

    expect(error).toMatchObject({ message: expect.stringMatching(/ECONNREFUSED|ENOENT|sslrootcert/) as unknown });
    expect(isTransient(error)).toBe(kind === 'transient');
    expect(isUnavailable(error)).toBe(true);
  });
});
