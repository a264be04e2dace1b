import { subscribe } from 'node:diagnostics_channel';
import { EventEmitter, once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';

/** One answer as it came over the wire. */
export interface Answer {
  readonly statusLine: string;
  /** By name in lower case; what came twice is joined by a line feed, which no header holds. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** How the service ended a connection: in order, or so that answers may be lost. */
export type Ending = 'FIN' | 'reset';

/** Bytes, or characters that stand for one byte each. */
export type Bytes = string | Uint8Array;

/** Milliseconds after which a test fails that waits for what does not come. */
const PATIENCE = 8_000;

/** The service's ends of the connections, by the client's port: client and service share this process. */
const accepted = new Map<number, Socket>();
/** As many wait as there are clients. */
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

/** Resolves when no server of this process holds a connection any more. */
export async function everyConnectionIsClosed(): Promise<void> {
  while (accepted.size > 0) await change();
}

async function change(): Promise<void> {
  await once(changes, 'change', { signal: AbortSignal.timeout(PATIENCE) });
}

/** A client that sends whatever bytes it is told to, and takes the answers apart one by one. */
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

  static async connectMany(count: number, port: number): Promise<RawClient[]> {
    const clients: RawClient[] = [];
    while (clients.length < count) clients.push(await RawClient.connect(port));
    return clients;
  }

  /** Sends bytes and resolves when the service has read them, so that what is sent next is in another packet. */
  async send(bytes: Bytes): Promise<void> {
    await this.hand(bytes);
    // The service reads in turns of the event loop that are as much ours.
    while (this.#ending === undefined && this.#readByService() < this.#sent) {
      await setImmediate();
    }
  }

  /** Sends bytes and resolves when the system has taken them all, read or not. */
  async hand(bytes: Bytes): Promise<void> {
    const buffer = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes;
    this.#sent += buffer.length;
    await new Promise<void>((resolve) => this.#socket.write(buffer, () => resolve()));
    // Who sends in a loop leaves the service its turns, also when the connection is gone.
    await setImmediate();
  }

  /** Sends a FIN: nothing more comes from here, but answers are still heard. */
  finish(): void {
    this.#socket.end();
  }

  /** Sends a RST, as the system does for a program that dies. */
  reset(): void {
    this.#socket.resetAndDestroy();
  }

  /** Whether the service has ended the connection; there may be answers left to take. */
  get isEnded(): boolean {
    return this.#ending !== undefined;
  }

  /** Whether the service still holds the connection. */
  get isHeld(): boolean {
    return this.#served() !== undefined;
  }

  /** Listens no more, or again. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** The next answer, whole. An answer to HEAD has no body, whatever its headers say. */
  answer(method = 'POST'): Promise<Answer> {
    return this.#until(`an answer to ${method}`, () => {
      const taken = takeAnswer(this.#received, method);
      if (taken === undefined) {
        if (this.#ending === undefined) return undefined;
        throw new Error(`The connection ended with a ${this.#ending} where an answer was due: ${this.#rest()}`);
      }
      this.#received = taken.rest;
      return taken.answer;
    });
  }

  /** How the service ends the connection; bytes that came after the last answer taken are an error. */
  async ending(): Promise<Ending> {
    const ending = await this.#until('the end of the connection', () => this.#ending);
    if (this.#received !== '') throw new Error(`More came than the answers expected: ${this.#rest()}`);
    return ending;
  }

  /** Ends this side too, and tells how the connection ended in the end: a reset may follow a FIN. */
  async hangUp(): Promise<Ending> {
    this.finish();
    await this.ending();
    return this.#until('the connection to close', () => {
      if (!this.#isClosed) return undefined;
      return this.#isReset || this.#ending === 'reset' ? 'reset' : 'FIN';
    });
  }

  /** Resolves when the service has let go of the connection. */
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
    const signal = AbortSignal.timeout(PATIENCE);
    for (;;) {
      const found = find();
      if (found !== undefined) return found;
      try {
        await once(this.#progress, 'progress', { signal });
      } catch (cause) {
        throw new Error(`Waited in vain for ${what}; so far there came ${this.#rest()}`, { cause });
      }
    }
  }
}

/** What a client was told, from its first byte to the end of the connection. */
export interface Conversation {
  readonly answers: readonly Answer[];
  readonly ending: Ending;
}

/**
 * Sends the packets, takes as many answers as are expected, hangs up, and takes whatever else comes. A service that has
 * announced to close the connection has to do so before the client hangs up.
 */
export async function converse(
  port: number,
  packets: Bytes | readonly Bytes[],
  options: { readonly answers?: number; readonly method?: string } = {},
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

/** Takes one answer off the front of what came, as RFC 9112 §6.3 finds its end; undefined where it is not all there. */
function takeAnswer(received: string, method: string): { answer: Answer; rest: string } | undefined {
  const end = received.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [statusLine = '', ...lines] = received.slice(0, end).split('\r\n');
  const status = /^HTTP\/1\.1 (\d{3}) [\w ]+$/.exec(statusLine)?.[1];
  if (status === undefined) throw new Error(`This is no status line: ${JSON.stringify(statusLine)}`);
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const [, name, value] = /^([\w-]+): (.*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) throw new Error(`This is no header: ${JSON.stringify(line)}`);
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
