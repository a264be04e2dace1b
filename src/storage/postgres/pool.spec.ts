import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { createSecureContext, TLSSocket } from 'node:tls';
import { readPem } from '../../../test/support/certificates.js';
import { until } from '../../../test/support/until.js';
import { PostgresPool } from './pool.js';

/** Milliseconds that a batch may take: half of it for each attempt. */
const TIMEOUT = 1_000;

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
  /** Those of them that have sent statements, without those for questions about them. */
  readonly executing = new Set<Socket>();
  readonly statements: string[] = [];
  readonly questions: string[] = [];
  answersStatements = true;
  /** True once a connection has used TLS. */
  isEncrypted = false;
  /** Undefined to answer no question; otherwise the number of statements that a question finds. */
  found: number | undefined;
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
    socket.on('close', () => {
      this.sockets.delete(socket);
      this.executing.delete(socket);
    });
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
    const isQuestion = text.includes('pg_stat_activity');
    (isQuestion ? this.questions : this.statements).push(text);
    if (!isQuestion) this.executing.add(socket);
    if (isQuestion ? this.found === undefined : !this.answersStatements) return;
    const results = text.split(';').map(() => [NO_FIELDS, message('C', `SELECT ${this.found ?? 0}\0`)]);
    socket.write(Buffer.concat([...results.flat(), READY]));
  }
}

describe('PostgresPool', () => {
  let server: ProtocolServer;
  let url: string;
  let pool: PostgresPool;

  beforeEach(async () => {
    server = new ProtocolServer();
    url = await server.start();
    pool = new PostgresPool(url, TIMEOUT);
  });

  afterEach(async () => {
    const closed = pool.close();
    server.stop();
    await closed;
  });

  it('lets the server cancel a statement before the client gives up, after less than half of the timeout', async () => {
    const patient = new PostgresPool(url, 60_000);
    try {
      await patient.transact('SELECT 1');
      await patient.transactAndRollBack(['INSERT', 'SELECT 2'], 50);
      await patient.transactAndRollBack(['SELECT 3'], 100_000);
      expect(server.executing.size).toBe(1);
    } finally {
      await patient.close();
    }

    const mark = /^\/\* plant-store [\da-f-]{36} \*\/ SET LOCAL statement_timeout = /;
    expect(server.statements.map((text) => text.replace(mark, ''))).toEqual([
      '24000; SELECT 1',
      '40; BEGIN; INSERT; SELECT 2; ROLLBACK',
      '24000; BEGIN; SELECT 3; ROLLBACK',
    ]);
  });

  it('gives up after half of the timeout, and keeps the connection while the server may execute the statement', async () => {
    server.answersStatements = false;
    const began = performance.now();
    await expect(pool.transact('SELECT 1')).rejects.toThrow('Query read timeout');
    // Node's timers may be a millisecond early.
    expect(performance.now() - began).toBeGreaterThan(TIMEOUT / 2 - 2);
    await expect(pool.transact('SELECT 2')).rejects.toThrow('Query read timeout');
    // Both places are taken.
    await expect(pool.transact('SELECT 3')).rejects.toThrow('timeout exceeded when trying to connect');
    expect(server.executing.size).toBe(2);

    // The first ones have no answer, as from a server that is frozen.
    await until('the server is asked again', () => server.questions.length > 2 || server.executing.size < 2);
    expect(server.executing.size).toBe(2);
    server.found = 1;
    const asked = server.questions.length;
    await until('the server has said that it executes both', () => server.questions.length > asked + 3);
    expect(server.executing.size).toBe(2);
    server.found = 0;
    await until('the connections are closed', () => server.executing.size === 0);
    for (const statement of server.statements) {
      const [mark = ''] = /plant-store [\da-f-]+/.exec(statement) ?? [];
      expect(server.questions.some((question) => question.includes(mark))).toBe(true);
    }

    server.answersStatements = true;
    expect(await pool.transact('SELECT 4')).toEqual([]);
  });

  it('leaves no connection open when it closes, not even the one for questions', async () => {
    const other = new PostgresPool(url, TIMEOUT);
    server.answersStatements = false;
    await expect(other.transact('SELECT 1')).rejects.toThrow('Query read timeout');
    server.found = 0;
    await until('the connection is closed', () => server.executing.size === 0);
    expect(server.sockets.size).toBe(1);
    await other.close();

    await until('no connection is open', () => server.sockets.size === 0);
  });

  it.each([
    ['idle', true],
    ['unanswered', false],
  ])('goes on after the end of a connection that is %s', async (_state, isAnswered) => {
    server.answersStatements = isAnswered;
    const first = pool.transact('SELECT 1');
    if (isAnswered) await first;
    else await expect(first).rejects.toThrow('Query read timeout');
    server.cutAll();
    await until('the connection has ended', () => server.executing.size === 0);
    server.answersStatements = true;
    server.found = 0;

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
    const pool = new PostgresPool(`${url.replace('127.0.0.1', host)}?${parameters.toString()}`, 60_000);
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

    if (end === 'a refusal') await expect(running).rejects.toThrow(/certificate/);
    else await running;
    expect(server.statements).toHaveLength(end === 'a refusal' ? 0 : 1);
    expect(server.isEncrypted).toBe(end !== 'no TLS');
  });
});
