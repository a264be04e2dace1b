import { subscribe } from 'node:diagnostics_channel';
import { EventEmitter, once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';

/** One answer as it came over the wire. */
export interface Answer {
  readonly statusLine: string;
  /** By name in lower case; repeated headers are joined by a line feed, which no header contains. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The end of a connection by the service; a reset may lose answers. */
export type Ending = 'FIN' | 'reset';

/** Bytes, as an array or as a Latin-1 string. */
export type Bytes = string | Uint8Array;

/** Milliseconds after which a test fails that waits in vain. */
const TIMEOUT = 60_000;

/** The sockets of the service by the port of the client: both are in this process. */
const accepted = new Map<number, Socket>();
/** Each client may add a listener. */
const changes = new EventEmitter().setMaxListeners(0);

subscribe('net.server.socket', (message) => {
  const { socket } = message as { readonly socket: Socket };
  const port = socket.remotePort ?? 0;
  accepted.set(port, socket);
  changes.emit('change');
  socket.once('close', () => {
    if (accepted.get(port) === socket) accepted.delete(port);
    changes.emit('change');
  });
});

/** Waits until the servers of this process have closed all connections. */
export async function everyConnectionIsClosed(): Promise<void> {
  while (accepted.size > 0) await change();
}

async function change(): Promise<void> {
  await once(changes, 'change', { signal: AbortSignal.timeout(TIMEOUT) });
}

/** A client that sends arbitrary bytes, and parses the answers one by one. */
export class RawClient {
  readonly #socket: Socket;
  readonly #progress = new EventEmitter();
  #received = '';
  #sent = 0;
  #ending: Ending | undefined;
  #isReset = false;
  #isClosed = false;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Uint8Array) => {
      this.#received += Buffer.from(chunk).toString('latin1');
      this.#progress.emit('progress');
    });
    socket.on('end', () => this.#end('FIN'));
    socket.on('error', () => (this.#isReset = true));
    socket.on('close', () => {
      this.#isClosed = true;
      this.#end('reset');
    });
  }

  static async connect(port: number): Promise<RawClient> {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    await once(socket, 'connect');
    while (!accepted.has(socket.localPort ?? 0)) await change();
    return new RawClient(socket);
  }

  /** Sends bytes and waits until the service has read them, so that later bytes are in another packet. */
  async send(bytes: Bytes): Promise<void> {
    await this.hand(bytes);
    // The service reads in the event loop of this process.
    while (this.#ending === undefined && this.#readByService() < this.#sent) {
      await setImmediate();
    }
  }

  /** Sends bytes and waits until the operating system has accepted them. */
  async hand(bytes: Bytes): Promise<void> {
    const buffer = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes;
    this.#sent += buffer.length;
    await new Promise<void>((resolve) => this.#socket.write(buffer, () => resolve()));
    // A loop of calls must not block the service, even when the connection has ended.
    await setImmediate();
  }

  /** Sends a FIN, and continues to read. */
  finish(): void {
    this.#socket.end();
  }

  /** Sends a RST. */
  reset(): void {
    this.#socket.resetAndDestroy();
  }

  /** True once the service has ended the connection; there may be answers left. */
  get isEnded(): boolean {
    return this.#ending !== undefined;
  }

  /** True while the service has its socket of the connection open. */
  get isHeld(): boolean {
    return this.#served() !== undefined;
  }

  /** Stops to read. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Waits for the next complete answer. An answer to HEAD has no body, whatever its headers are. */
  answer(method = 'POST'): Promise<Answer> {
    return this.#until(`an answer to ${method}`, () => {
      const parsed = parseAnswer(this.#received, method);
      if (parsed === undefined) {
        if (this.#ending === undefined) return undefined;
        throw new Error(`The connection ended with a ${this.#ending} instead of an answer: ${this.#rest()}`);
      }
      this.#received = parsed.rest;
      return parsed.answer;
    });
  }

  /** Waits for the end of the connection; more bytes than the answers returned so far are an error. */
  async ending(): Promise<Ending> {
    const ending = await this.#until('the end of the connection', () => this.#ending);
    if (this.#received !== '') throw new Error(`More bytes came than the expected answers: ${this.#rest()}`);
    return ending;
  }

  /** Closes this side, and waits until the connection is closed; a reset may follow a FIN. */
  async hangUp(): Promise<Ending> {
    this.finish();
    await this.ending();
    return this.#until('the connection to close', () => {
      if (!this.#isClosed) return undefined;
      return this.#isReset || this.#ending === 'reset' ? 'reset' : 'FIN';
    });
  }

  /** Waits until the service has closed its socket. */
  async release(): Promise<void> {
    while (this.isHeld) await change();
  }

  #end(ending: Ending): void {
    this.#ending ??= ending;
    this.#progress.emit('progress');
  }

  #served(): Socket | undefined {
    return accepted.get(this.#socket.localPort ?? 0);
  }

  #readByService(): number {
    return this.#served()?.bytesRead ?? this.#sent;
  }

  #rest(): string {
    return JSON.stringify(this.#received.slice(0, 2_000));
  }

  async #until<T>(what: string, find: () => T | undefined): Promise<T> {
    const signal = AbortSignal.timeout(TIMEOUT);
    for (;;) {
      const found = find();
      if (found !== undefined) return found;
      try {
        await once(this.#progress, 'progress', { signal });
      } catch (cause) {
        throw new Error(`Timeout of the wait for ${what}; received so far: ${this.#rest()}`, { cause });
      }
    }
  }
}

/** All answers on a connection, and its end. */
export interface Conversation {
  readonly answers: readonly Answer[];
  readonly ending: Ending;
}

/**
 * Sends the packets, waits for the expected number of answers, and hangs up; more bytes are an error. After an answer
 * with Connection: close, the service has to close the connection before the client does.
 */
export async function converse(
  port: number,
  packets: Bytes | readonly Bytes[],
  options: { readonly answers?: number; readonly method?: string | undefined } = {},
): Promise<Conversation> {
  const client = await RawClient.connect(port);
  for (const packet of typeof packets === 'string' || packets instanceof Uint8Array ? [packets] : packets) {
    await client.send(packet);
  }
  const answers: Answer[] = [];
  while (answers.length < (options.answers ?? 1)) answers.push(await client.answer(options.method));
  if (answers.at(-1)?.headers.connection === 'close') await client.ending();
  return { answers, ending: await client.hangUp() };
}

/** Parses the first answer as in RFC 9112 §6.3; returns undefined if it is incomplete. */
function parseAnswer(received: string, method: string): { answer: Answer; rest: string } | undefined {
  const end = received.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [statusLine = '', ...lines] = received.slice(0, end).split('\r\n');
  const status = /^HTTP\/1\.1 (\d{3}) [\w ]+$/.exec(statusLine)?.[1];
  if (status === undefined) throw new Error(`Invalid status line: ${JSON.stringify(statusLine)}`);
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const [, name, value] = /^([\w-]+): (.*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) throw new Error(`Invalid header: ${JSON.stringify(line)}`);
    const key = name.toLowerCase();
    headers[key] = key in headers ? `${headers[key]}\n${value}` : value;
  }
  const isBodiless = method === 'HEAD' || /^(?:1|204)/.test(status);
  const length = isBodiless ? 0 : Number(headers['content-length']);
  if (!Number.isInteger(length)) throw new Error(`This answer has no length: ${JSON.stringify(received)}`);
  const start = end + '\r\n\r\n'.length;
  if (received.length < start + length) return undefined;
  const body = Buffer.from(received.slice(start, start + length), 'latin1').toString('utf8');
  return { answer: { statusLine, headers, body }, rest: received.slice(start + length) };
}
