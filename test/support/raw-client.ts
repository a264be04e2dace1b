import { once } from 'node:events';
import { connect, type Server, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { until } from './until.js';

/** An answer as it came over the wire. */
export interface RawAnswer {
  readonly statusLine: string;
  /** By name in lower case; repeated headers are joined by a line feed, which no header contains. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Bytes, as an array or as a Latin-1 string. */
export type Bytes = string | Uint8Array;

/** The sockets of the services in this process by the port of the client. */
const accepted = new Map<number, Socket>();

/** Lets clients see which of their bytes a service in this process has read, and when it closes a connection. */
export function observeConnections(server: Server): void {
  server.on('connection', (socket) => {
    const port = socket.remotePort ?? 0;
    accepted.set(port, socket);
    socket.once('close', () => {
      if (accepted.get(port) === socket) accepted.delete(port);
    });
  });
}

/** Waits until the services in this process have closed all connections. */
export function everyConnectionIsClosed(): Promise<void> {
  return until('every connection is closed', () => accepted.size === 0);
}

/** A client that sends arbitrary bytes, and parses the answers one by one. */
export class RawClient {
  readonly #socket: Socket;
  #received = '';
  #sent = 0;
  /** How the service has ended the connection; a reset may lose answers. */
  #ending: 'FIN' | 'reset' | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket
      .setNoDelay(true)
      .setEncoding('latin1')
      .on('data', (text: string) => (this.#received += text))
      .on('end', () => (this.#ending = 'FIN'))
      .on('error', () => (this.#ending = 'reset'))
      .on('close', () => (this.#ending ??= 'reset'));
  }

  static async connect(port: number): Promise<RawClient> {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    await once(socket, 'connect');
    await until('the service accepts the connection', () => accepted.has(socket.localPort ?? 0));
    return new RawClient(socket);
  }

  /** Sends bytes and waits until the service has read them, so that later bytes are in another packet. */
  async send(bytes: Bytes): Promise<void> {
    await this.hand(bytes);
    const isRead = (): boolean => (this.#served?.bytesRead ?? Infinity) >= this.#sent;
    await until('the service has read all bytes', () => this.isEnded || isRead());
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
    return this.#served !== undefined;
  }

  /** Stops to read. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Waits for the next complete answer. An answer to HEAD has no body, whatever its headers are. */
  async answer(method = 'POST'): Promise<RawAnswer> {
    let parsed: ReturnType<typeof parseAnswer>;
    await until(`${method} is answered`, () => {
      parsed = parseAnswer(this.#received, method);
      return parsed !== undefined || this.isEnded;
    });
    if (parsed === undefined) throw new Error(`No answer, but a ${this.#ending} after ${this.#rest}`);
    this.#received = parsed.rest;
    return parsed.answer;
  }

  /** Waits until the service ends the connection in order, with no bytes but the answers returned so far. */
  async ending(): Promise<void> {
    await until('the connection has ended', () => this.isEnded);
    if (this.#received !== '') throw new Error(`More bytes came than the expected answers: ${this.#rest}`);
    if (this.#ending !== 'FIN') throw new Error('The service has reset the connection');
  }

  /** Closes this side, and waits for the same end; a reset may follow a FIN. */
  async hangUp(): Promise<void> {
    this.finish();
    await until('the connection is closed', () => this.#socket.closed);
    await this.ending();
  }

  /** Waits until the service has closed its socket. */
  release(): Promise<void> {
    return until('the service has closed its socket', () => !this.isHeld);
  }

  get #served(): Socket | undefined {
    return accepted.get(this.#socket.localPort ?? 0);
  }

  get #rest(): string {
    return JSON.stringify(this.#received.slice(0, 2_000));
  }
}

/**
 * Sends the packets, returns the expected number of answers, and hangs up; more bytes are an error. After an answer with
 * Connection: close, the service has to close the connection before the client does.
 */
export async function converse(
  port: number,
  packets: Bytes | readonly Bytes[],
  { count = 1, method }: { readonly count?: number; readonly method?: string | undefined } = {},
): Promise<RawAnswer[]> {
  const client = await RawClient.connect(port);
  for (const packet of typeof packets === 'string' || packets instanceof Uint8Array ? [packets] : packets) {
    await client.send(packet);
  }
  const answers: RawAnswer[] = [];
  while (answers.length < count) answers.push(await client.answer(method));
  if (answers.at(-1)?.headers.connection === 'close') await client.ending();
  await client.hangUp();
  return answers;
}

/** Parses the first answer as in RFC 9112 §6.3; returns undefined if it is incomplete. */
function parseAnswer(received: string, method: string): { answer: RawAnswer; rest: string } | undefined {
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
