import { once, setMaxListeners } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { connect as connectTls, TLSSocket } from 'node:tls';

/** A service, and a token that it accepts. */
export interface Target {
  /** {base_url}. */
  readonly url: string;
  readonly token: string;
  /** True if clients begin again when the service closes their connections. */
  readonly repeats?: boolean;
}

/** The behaviour of each connection of a pattern. */
interface Script {
  readonly connections: number;
  /** Returns all that a connection sends, in pieces. */
  readonly bytes: (connection: number) => Iterable<string | Uint8Array>;
  /** Sent once a second after that. */
  readonly drip?: string;
  /** How answers are taken; `byte`: one a second, without TLS only. */
  readonly reads: 'everything' | 'nothing' | 'byte';
  /** No TLS, whatever the URL is. */
  readonly withoutTls?: boolean;
}

/** Connections that are being opened at the same time: the backlog of a listener is limited. */
const OPENING = 100;

/**
 * Milliseconds until a connection that the service has closed is opened again. Node 20 and 22 accept one connection in
 * each iteration of the event loop, so that clients that open thousands a second would make all others wait.
 */
const REOPENING = 5_000;

const DRIP_INTERVAL = 1_000;

/** Bytes that the operating system gets at once. */
const PIECE = 60_000;

/** The ids of all plants that hostile clients create are negative, and few: they must not fill the disk. */
const HOSTILE_ID = -1;

export interface Attack {
  /** Bytes that the operating system has accepted. */
  readonly sent: number;
  /** True once all connections were opened. */
  readonly isOpen: boolean;
  /** Closes all connections. */
  stop(): Promise<void>;
}

export type Pattern = (target: Target) => Attack;

/** Combines patterns. */
export function together(...patterns: readonly Pattern[]): Pattern {
  return (target) => {
    const attacks = patterns.map((pattern) => pattern(target));
    return {
      get sent() {
        return attacks.reduce((sum, { sent }) => sum + sent, 0);
      },
      get isOpen() {
        return attacks.every(({ isOpen }) => isOpen);
      },
      async stop() {
        await Promise.all(attacks.map((attack) => attack.stop()));
      },
    };
  };
}

/** The connections of a pattern, each of which follows its script. */
export class HostileClients implements Attack {
  sent = 0;
  /** Connections opened so far. */
  opened = 0;
  readonly #stopping = new AbortController();
  readonly #sockets = new Set<Socket>();
  readonly #clients: Promise<void>;

  constructor(
    private readonly target: Target,
    private readonly script: Script,
  ) {
    setMaxListeners(0, this.#stopping.signal);
    this.#clients = this.#openAll();
  }

  get isOpen(): boolean {
    return this.opened >= this.script.connections;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    // With resetAndDestroy(), Node 20 emits no 'close' if the service ends at the same moment.
    for (const socket of this.#sockets) socket.destroy();
    await this.#clients;
  }

  async #openAll(): Promise<void> {
    const clients: Promise<void>[] = [];
    for (let first = 0; first < this.script.connections && !this.#isStopping; first += OPENING) {
      const opening: Promise<unknown>[] = [];
      for (let index = first; index < Math.min(first + OPENING, this.script.connections); index += 1) {
        const socket = this.#open();
        opening.push(opened(socket));
        clients.push(this.#run(index, socket));
      }
      await Promise.all(opening);
    }
    await Promise.all(clients);
  }

  async #run(index: number, first: Socket): Promise<void> {
    for (let socket = first; ; socket = this.#open()) {
      const closed = new Promise((resolve) => socket.once('close', resolve));
      await opened(socket);
      for (const bytes of this.script.bytes(index)) await this.#send(socket, bytes);
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
    const { reads, withoutTls = false } = this.script;
    const address = { host: hostname, port: Number(port) };
    const isTls = protocol === 'https:' && !withoutTls;
    // Node would read 64 KB ahead; returning false pauses the socket.
    const onread = { buffer: new Uint8Array(1), callback: () => false };
    const socket = isTls
      ? connectTls({ ...address, rejectUnauthorized: false })
      : connect({ ...address, ...(reads === 'byte' && { onread }) });
    socket.on('error', () => undefined);
    if (reads === 'everything') socket.resume();
    else socket.pause();
    this.opened += 1;
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    return socket;
  }

  async #send(socket: Socket, bytes: string | Uint8Array): Promise<void> {
    if (socket.destroyed) return;
    const length = Buffer.byteLength(bytes);
    await new Promise<void>((resolve) => {
      socket.once('close', resolve);
      socket.write(bytes, (error) => {
        if (!error) this.sent += length;
        socket.off('close', resolve);
        resolve();
      });
    });
  }

  #drip(socket: Socket): NodeJS.Timeout | undefined {
    const { drip, reads } = this.script;
    if (drip === undefined && reads !== 'byte') return undefined;
    return setInterval(() => {
      if (drip !== undefined && !socket.destroyed) socket.write(drip);
      if (reads === 'byte') socket.resume();
    }, DRIP_INTERVAL);
  }
}

/** Waits until a socket is connected, or closed. */
async function opened(socket: Socket): Promise<void> {
  if (socket.destroyed) return;
  if (socket instanceof TLSSocket || socket.connecting) {
    const event = socket instanceof TLSSocket ? 'secureConnect' : 'connect';
    await Promise.race([once(socket, event), new Promise((resolve) => socket.once('close', resolve))]).catch(
      () => undefined,
    );
  }
}

/** Returns the beginning of a request; a body follows. */
function head(token: string | undefined, ...headers: readonly string[]): string {
  const authorization = token === undefined ? [] : [`Authorization: Bearer ${token}`];
  const lines = ['Host: localhost', ...authorization, 'Content-Type: application/json', ...headers];
  return `POST /plants HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`;
}

function* repeat(text: string, count: number): Generator<string | Uint8Array> {
  const perPiece = Math.max(1, Math.floor(PIECE / text.length));
  const piece = Buffer.from(text.repeat(Math.min(perPiece, count)), 'latin1');
  for (let left = count; left > 0; left -= perPiece) {
    yield left >= perPiece ? piece : piece.subarray(0, left * text.length);
  }
}

/** Sends a body of so many chunks of one byte each, without its end. */
function* chunks(token: string | undefined, count: number): Generator<string | Uint8Array> {
  yield head(token, 'Transfer-Encoding: chunked');
  const beginning = `{"id":${HOSTILE_ID},"name":"`;
  yield `${beginning.length.toString(16)}\r\n${beginning}\r\n`;
  yield* repeat('1\r\nx\r\n', count);
}

/** Sends requests with a valid token, each with a million chunks of one byte. */
export function tinyChunks(target: Target): HostileClients {
  return new HostileClients(target, {
    connections: 6,
    bytes: () => chunks(target.token, 1_000_000),
    reads: 'everything',
  });
}

/** Sends requests of tiny chunks with a wrong token. */
export function tinyChunksOfStrangers(target: Target): HostileClients {
  return new HostileClients(target, {
    connections: 200,
    bytes: () => chunks('wrong', 16_000),
    reads: 'everything',
  });
}

/** Pipelines creates with answers of 1 MB, and takes no answer. */
export function unreadEchoes(target: Target): HostileClients {
  return new HostileClients(target, unreadEchoesScript(target, ''));
}

/** Pipelines such creates with one character that makes JavaScript take two bytes for each. */
export function unreadWideEchoes(target: Target): HostileClients {
  return new HostileClients(target, unreadEchoesScript(target, '\u{1f33f}'));
}

function unreadEchoesScript(target: Target, beginning: string): Script {
  return {
    connections: 100,
    *bytes() {
      for (let count = 0; count < 8; count += 1) {
        const [start, length, end] = [`{"id":${HOSTILE_ID - count},"name":"${beginning}`, 1_000_000, '"}'];
        yield head(target.token, `Content-Length: ${Buffer.byteLength(start) + length + end.length}`) + start;
        yield* repeat('x', length);
        yield end;
      }
    },
    reads: 'nothing',
  };
}

function unreadRefusalsScript(reads: Script['reads']): Script {
  return {
    connections: 20,
    bytes: () => repeat(head(undefined, 'Content-Length: 0'), 2_400),
    reads,
  };
}

/** Pipelines requests without a token, and takes no answer. */
export function unreadRefusals(target: Target): HostileClients {
  return new HostileClients(target, unreadRefusalsScript('nothing'));
}

/** Pipelines requests without a token, and takes one byte of the answers a second. */
export function refusalsReadSlowly(target: Target): HostileClients {
  return new HostileClients(target, unreadRefusalsScript('byte'));
}

/** Sends bodies with a wrong token, from so many connections that their refusals are delayed, and not all of them. */
export function bodiesOfStrangers(target: Target): HostileClients {
  return new HostileClients(target, {
    connections: 3_000,
    *bytes() {
      yield head('wrong', 'Content-Length: 1000000');
      yield* repeat('x', 200_000);
    },
    reads: 'everything',
  });
}

/** Sends the first byte of more bodies than the service admits of one principal. */
export function bodiesThatStop(target: Target): HostileClients {
  return new HostileClients(target, {
    connections: 1_100,
    bytes: () => [`${head(target.token, 'Content-Length: 1000')}{`],
    reads: 'everything',
  });
}

/** Declares bodies of 1 MiB with a valid token, and sends one byte a second. */
export function bodiesThatDrip(target: Target): HostileClients {
  return new HostileClients(target, {
    connections: 1_100,
    bytes: () => [`${head(target.token, 'Content-Length: 1048576')}{`],
    drip: ' ',
    reads: 'everything',
  });
}

/** Sends nothing. */
export function silence(connections: number): (target: Target) => HostileClients {
  return (target) =>
    new HostileClients(target, { connections, bytes: () => [], reads: 'everything', withoutTls: true });
}

/** Sends the beginning of the headers of a request, and no more. */
export function halfHeads(connections: number): (target: Target) => HostileClients {
  return (target) =>
    new HostileClients(target, {
      connections,
      bytes: () => ['POST /plants HTTP/1.1\r\nHost: localhost\r\nAuthoriz'],
      reads: 'everything',
    });
}

/** Begins a TLS handshake, and sends no more than the header of its first record. */
export function halfHandshakes(connections: number): (target: Target) => HostileClients {
  return (target) =>
    new HostileClients(target, {
      connections,
      bytes: () => [Uint8Array.of(0x16, 3, 1, 2, 0, 1)],
      reads: 'everything',
      withoutTls: true,
    });
}

/** Sends almost as many bytes of headers as a request may have, and goes on with one byte a second. */
export function largeHeads(connections: number): (target: Target) => HostileClients {
  return (target) =>
    new HostileClients(target, {
      connections,
      *bytes() {
        yield 'POST /plants HTTP/1.1\r\nHost: localhost\r\n';
        yield* repeat('A: b\r\n', 1_990);
        yield `C: ${'d'.repeat(3_900)}`;
      },
      drip: 'd',
      reads: 'everything',
    });
}

/** Sends bytes that are not HTTP. */
export function garbage(target: Target): HostileClients {
  return new HostileClients(target, {
    connections: 50,
    *bytes(connection) {
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
    reads: 'everything',
    withoutTls: true,
  });
}
