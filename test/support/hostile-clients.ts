import { setMaxListeners } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { connect as connectTls, TLSSocket } from 'node:tls';
import { jwtOfUnknownKey } from './silent-provider.js';

/** A service, and a token that it accepts. */
export interface Target {
  /** {base_url}. */
  readonly url: string;
  readonly token: string;
  /** True if clients begin again when the service closes their connections. */
  readonly repeats?: boolean;
}

/** The behaviour of hostile clients. */
export interface Pattern {
  readonly connections: number;
  /** Returns all that a connection sends, in pieces; without an end if `isEndless`. */
  readonly bytes: (token: string, connection: number) => Iterable<string | Uint8Array>;
  /** Sent once a second after that. */
  readonly drip?: string;
  /** How answers are taken; by default as they come. `byte`: one a second, without TLS only. */
  readonly reads?: 'nothing' | 'byte';
  /** No TLS, whatever the URL is. */
  readonly withoutTls?: boolean;
  /** True if the clients send until they are stopped. */
  readonly isEndless?: boolean;
}

/** Connections that are being opened at the same time: the backlog of a listener is limited. */
const OPENING = 100;

/**
 * Milliseconds until a connection that the service has closed is opened again. Node 20 and 22 accept one connection in
 * each iteration of the event loop, so that clients that open thousands a second would make all others wait.
 */
const REOPENING = 5_000;

const DRIP_INTERVAL = 1_000;

/** More connections than the service keeps open by default. */
const MORE_THAN_OPEN = 2_500;

/** Bytes that the operating system gets at once. */
const PIECE = 60_000;

/** The ids of all plants that hostile clients create are negative, and few: they must not fill the disk. */
const HOSTILE_ID = -1;

/** The connections of a pattern. */
export class HostileClients {
  /** Bytes that the operating system has accepted. */
  sent = 0;
  #opened = 0;
  readonly #stopping = new AbortController();
  readonly #sockets = new Set<Socket>();
  readonly #clients: Promise<void>;

  constructor(
    private readonly target: Target,
    private readonly pattern: Pattern,
  ) {
    setMaxListeners(0, this.#stopping.signal);
    this.#clients = this.#openAll();
  }

  /** True once all connections were opened. */
  get isOpen(): boolean {
    return this.#opened >= this.pattern.connections;
  }

  /** Closes all connections. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    // With resetAndDestroy(), Node 20 emits no 'close' if the service ends at the same moment.
    for (const socket of this.#sockets) socket.destroy();
    await this.#clients;
  }

  async #openAll(): Promise<void> {
    const clients: Promise<void>[] = [];
    for (let index = 0; index < this.pattern.connections && !this.#isStopping; index += 1) {
      const socket = this.#open();
      clients.push(this.#run(index, socket));
      if (index % OPENING === 0) await opened(socket);
    }
    await Promise.all(clients);
  }

  async #run(index: number, first: Socket): Promise<void> {
    for (let socket = first; ; socket = this.#open()) {
      const closed = new Promise((resolve) => socket.once('close', resolve));
      await opened(socket);
      for (const bytes of this.pattern.bytes(this.target.token, index)) {
        if (socket.destroyed) break;
        await this.#send(socket, bytes);
      }
      const drip = this.#drip(socket);
      await closed;
      clearInterval(drip);
      if (this.target.repeats !== true) return;
      await wait(REOPENING, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
      if (this.#isStopping) return;
    }
  }

  get #isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  #open(): Socket {
    const { protocol, hostname, port } = new URL(this.target.url);
    const { reads, withoutTls = false } = this.pattern;
    const address = { host: hostname, port: Number(port) };
    // Node would read 64 KB ahead; returning false pauses the socket.
    const onread = { buffer: new Uint8Array(1), callback: () => false };
    const socket =
      protocol === 'https:' && !withoutTls
        ? connectTls({ ...address, rejectUnauthorized: false })
        : connect({ ...address, ...(reads === 'byte' && { onread }) });
    socket.on('error', () => undefined);
    if (reads === undefined) socket.resume();
    else socket.pause();
    this.#opened += 1;
    this.#sockets.add(socket);
    return socket.once('close', () => this.#sockets.delete(socket));
  }

  async #send(socket: Socket, bytes: string | Uint8Array): Promise<void> {
    await new Promise<void>((resolve) => {
      socket.once('close', resolve);
      socket.write(bytes, (error) => {
        if (!error) this.sent += Buffer.byteLength(bytes);
        socket.off('close', resolve);
        resolve();
      });
    });
  }

  #drip(socket: Socket): NodeJS.Timeout | undefined {
    const { drip, reads } = this.pattern;
    if (drip === undefined && reads !== 'byte') return undefined;
    return setInterval(() => {
      if (drip !== undefined && !socket.destroyed) socket.write(drip);
      if (reads === 'byte') socket.resume();
    }, DRIP_INTERVAL);
  }
}

/** Waits until a new socket is connected, or closed. */
function opened(socket: Socket): Promise<unknown> {
  const event = socket instanceof TLSSocket ? 'secureConnect' : 'connect';
  return new Promise((resolve) => socket.once(event, resolve).once('close', resolve));
}

/** Returns the beginning of a request; a body follows. */
function head(token: string, ...headers: readonly string[]): string {
  const lines = ['Host: localhost', `Authorization: Bearer ${token}`, 'Content-Type: application/json', ...headers];
  return `POST /plants HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`;
}

function* repeat(text: string, count: number): Generator<string | Uint8Array> {
  const perPiece = Math.max(1, Math.floor(PIECE / text.length));
  const piece = Buffer.from(text.repeat(Math.min(perPiece, count)), 'latin1');
  for (let left = count; left > 0; left -= perPiece) {
    yield left >= perPiece ? piece : piece.subarray(0, left * text.length);
  }
}

/** Repeats a text until the client is stopped. */
function* repeatWithoutEnd(text: string): Generator<Uint8Array> {
  const piece = Buffer.from(text.repeat(Math.ceil(PIECE / text.length)), 'latin1');
  for (;;) yield piece;
}

/** Sends a body of so many chunks of one byte each, without its end. */
function* chunks(token: string, count: number): Generator<string | Uint8Array> {
  yield head(token, 'Transfer-Encoding: chunked');
  const beginning = `{"id":${HOSTILE_ID},"name":"`;
  yield `${beginning.length.toString(16)}\r\n${beginning}\r\n`;
  yield* repeat('1\r\nx\r\n', count);
}

/** Pipelines creates with answers of 1 MB, whose names begin with this text. */
function* largeCreations(token: string, beginning: string): Generator<string | Uint8Array> {
  for (let count = 0; count < 8; count += 1) {
    const [start, length, end] = [`{"id":${HOSTILE_ID - count},"name":"${beginning}`, 1_000_000, '"}'];
    yield head(token, `Content-Length: ${Buffer.byteLength(start) + length + end.length}`) + start;
    yield* repeat('x', length);
    yield end;
  }
}

/** Sends requests with a valid token, each with a million chunks of one byte. */
export const tinyChunks: Pattern = {
  connections: 6,
  bytes: (token) => chunks(token, 1_000_000),
};

/** Sends requests of tiny chunks with a wrong token. */
export const tinyChunksOfStrangers: Pattern = {
  connections: 200,
  bytes: () => chunks('wrong', 16_000),
};

/** Sends requests of tiny chunks, with tokens for whose key the service asks the identity provider. */
export const tinyChunksOfUnknownKeys: Pattern = {
  connections: 100,
  bytes: () => chunks(jwtOfUnknownKey(), 16_000),
};

/** Pipelines requests without a body and with a valid token, without end, and reads the answers. */
export const endlessRequests: Pattern = {
  connections: 20,
  bytes: (token) => repeatWithoutEnd(head(token).replace('POST', 'GET')),
  isEndless: true,
};

/** Pipelines small requests without a valid token, of which the first gets the last answer. */
export const requestsOfStrangers: Pattern = {
  connections: 20,
  bytes: () => repeat('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n', 100_000),
};

const SMALL_PLANT = `{"id":${HOSTILE_ID},"name":"x"}`;

/** Pipelines creates without end, and reads the answers. */
export const endlessCreations: Pattern = {
  ...endlessRequests,
  bytes: (token) => repeatWithoutEnd(head(token, `Content-Length: ${SMALL_PLANT.length}`) + SMALL_PLANT),
};

/** Pipelines creates in chunks of one byte without end, and reads the answers. */
export const endlessTinyChunks: Pattern = {
  ...endlessRequests,
  bytes: (token) => {
    const body = SMALL_PLANT.replace(/./g, '1\r\n$&\r\n');
    return repeatWithoutEnd(`${head(token, 'Transfer-Encoding: chunked')}${body}0\r\n\r\n`);
  },
};

/** Pipelines creates with answers of 1 MB, and takes no answer. */
export const unreadEchoes: Pattern = {
  connections: 100,
  bytes: (token) => largeCreations(token, ''),
  reads: 'nothing',
};

/** Pipelines such creates with one character that makes JavaScript take two bytes for each. */
export const unreadWideEchoes: Pattern = {
  ...unreadEchoes,
  bytes: (token) => largeCreations(token, '\u{1f33f}'),
};

/** Pipelines requests with a wrong token, and takes no answer. */
export const unreadRefusals: Pattern = {
  connections: 20,
  bytes: () => repeat(head('wrong', 'Content-Length: 0'), 2_400),
  reads: 'nothing',
};

/** Pipelines requests with a wrong token, and takes one byte of the answers a second. */
export const refusalsReadSlowly: Pattern = {
  ...unreadRefusals,
  reads: 'byte',
};

/** Sends bodies with a wrong token, of 400 MB together. */
export const bodiesOfStrangers: Pattern = {
  connections: 2_000,
  *bytes() {
    yield head('wrong', 'Content-Length: 1000000');
    yield* repeat('x', 200_000);
  },
};

/** Sends the first byte of more bodies than the service admits. */
export const bodiesThatStop: Pattern = {
  connections: 1_100,
  bytes: (token) => [`${head(token, 'Content-Length: 1000')}{`],
};

/** Declares bodies of 1 MiB with a valid token, and sends one byte a second. */
export const bodiesThatDrip: Pattern = {
  connections: 1_100,
  bytes: (token) => [`${head(token, 'Content-Length: 1048576')}{`],
  drip: ' ',
};

/** Sends nothing. */
export const silence: Pattern = {
  connections: 150,
  bytes: () => [],
  withoutTls: true,
};

/** Sends the beginning of the headers of a request, and no more. */
export const halfHeads: Pattern = {
  connections: 150,
  bytes: () => ['POST /plants HTTP/1.1\r\nHost: localhost\r\nAuthoriz'],
};

/** Begins a TLS handshake, and sends no more than the header of its first record. */
export const halfHandshakes: Pattern = {
  connections: MORE_THAN_OPEN,
  bytes: () => [Uint8Array.of(0x16, 3, 1, 2, 0, 1)],
  withoutTls: true,
};

/** Sends almost as many bytes of headers as a request may have, and goes on with one byte a second. */
export const largeHeads: Pattern = {
  connections: MORE_THAN_OPEN,
  *bytes() {
    yield 'POST /plants HTTP/1.1\r\nHost: localhost\r\n';
    yield* repeat('A: b\r\n', 1_990);
    yield `C: ${'d'.repeat(3_900)}`;
  },
  drip: 'd',
};

/** Sends bytes that are not HTTP. */
export const garbage: Pattern = {
  connections: 50,
  *bytes(_token, connection) {
    const beginnings = [
      'GET',
      '\0\0',
      '\r\n\r\n',
      'POST /plants HTTP/9.9\r\n\r\n',
      '\x16\x03\x01',
      'PRI * HTTP/2.0\r\n',
    ];
    yield beginnings[connection % beginnings.length] ?? '';
    yield* repeat('\x01\xfe garbage', 6_000);
  },
  withoutTls: true,
};
