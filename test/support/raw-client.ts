import { EventEmitter, once } from 'node:events';
import { connect, type Server, type Socket, type TcpNetConnectOpts } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { monstera, TOKEN } from './client.js';
import { HEAD, message } from './http-messages.js';
import { inTime, until } from './until.js';

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

/** A client that sends arbitrary bytes on a connection of its own, and reads the answers. */
export class RawClient {
  /** Everything that has come, without what `answer` has returned, as a Latin-1 string. */
  received = '';
  #sent = 0;
  #closes = false;
  /** How the service has ended the connection; a reset may lose answers. */
  #ending: 'FIN' | 'reset' | undefined;
  readonly #closed: Promise<void>;
  readonly #news = new EventEmitter();

  private constructor(readonly socket: Socket) {
    const tell = (): boolean => this.#news.emit('news');
    socket
      .setNoDelay(true)
      .setEncoding('latin1')
      .on('data', (text: string) => (this.received += text))
      .on('end', () => (this.#ending = 'FIN'))
      .on('error', () => (this.#ending = 'reset'))
      .on('close', () => (this.#ending ??= 'reset'));
    for (const event of ['data', 'end', 'error', 'close']) socket.on(event, tell);
    this.#closed = new Promise((resolve) => socket.once('close', () => resolve()));
  }

  /** Connects to a service in this process. The client keeps its side open when the service closes the other one. */
  static async connect(port: number): Promise<RawClient> {
    const client = await RawClient.open(`http://127.0.0.1:${port}`, { allowHalfOpen: true });
    await until('the service accepts the connection', () => client.isHeld);
    return client;
  }

  /** Connects to the service at a URL, with TLS if it says so. */
  static async open(url: string, options: Partial<TcpNetConnectOpts> = {}): Promise<RawClient> {
    const { protocol, hostname, port } = new URL(url);
    const address = { host: hostname, port: Number(port), ...options };
    const isSecure = protocol === 'https:';
    const socket = isSecure ? connectTls({ ...address, rejectUnauthorized: false }) : connect(address);
    await once(socket, isSecure ? 'secureConnect' : 'connect');
    return new RawClient(socket);
  }

  /**
   * Sends bytes, and waits until a service in this process has read them, so that later bytes are in another packet.
   */
  async send(bytes: Bytes): Promise<void> {
    await this.hand(bytes);
    const isRead = (): boolean => (this.#served?.bytesRead ?? Infinity) >= this.#sent;
    await until('the service has read all bytes', () => this.isEnded || isRead());
  }

  /** Sends bytes and waits until the operating system has accepted them. */
  async hand(bytes: Bytes): Promise<void> {
    const buffer = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes;
    this.#sent += buffer.length;
    await new Promise<void>((resolve) => this.socket.write(buffer, () => resolve()));
    // A loop of calls must not block the service, even when the connection has ended.
    await setImmediate();
  }

  /** Sends a FIN, and continues to read. */
  finish(): void {
    this.socket.end();
  }

  /** Sends a RST. */
  reset(): void {
    this.socket.resetAndDestroy();
  }

  /** Resolves when both sides of the connection are closed. */
  get closed(): Promise<void> {
    return inTime(this.#closed, () => `the connection is closed, which has ${this.#rest}`);
  }

  /** True once the service has ended the connection; there may be answers left. */
  get isEnded(): boolean {
    return this.#ending !== undefined;
  }

  /** True while a service in this process has its socket of the connection open. */
  get isHeld(): boolean {
    return this.#served !== undefined;
  }

  /** True while the connection takes another request. */
  get isReusable(): boolean {
    return !this.isEnded && !this.#closes && !this.socket.destroyed;
  }

  /** Waits for the next complete answer. An answer to HEAD has no body, whatever its headers are. */
  async answer(method = 'POST'): Promise<RawAnswer> {
    let parsed = 0 as ReturnType<typeof parseAnswer>;
    await this.#until(`${method} is answered`, () => {
      // To parse a long answer again with each packet would take most of the time of a test.
      if (typeof parsed === 'number' && this.received.length >= parsed) parsed = parseAnswer(this.received, method);
      return typeof parsed !== 'number';
    });
    if (typeof parsed === 'number') throw new Error('There is no answer');
    this.received = parsed.rest;
    this.#closes = parsed.answer.headers.connection === 'close';
    return parsed.answer;
  }

  /** Sends a request, and returns 200, the error number, or undefined without a complete answer. */
  async ask(request: string): Promise<number | undefined> {
    this.socket.write(request, 'latin1');
    try {
      const { body } = await this.answer();
      return (JSON.parse(body) as { error?: number }).error ?? 200;
    } catch {
      this.socket.destroy();
      return undefined;
    }
  }

  /** The status 200 or the error number of each answer that has come, in order. */
  get answers(): number[] {
    return [...this.received.matchAll(/HTTP\/1\.1 (?:(200)|400) [^]*?\r\n\r\n\{(?:"error":(\d+))?/g)].map(
      ([, ok, error]) => Number(ok ?? error),
    );
  }

  /** Waits until this many answers have come. */
  answered(count: number): Promise<void> {
    return this.#until(`${count} answers have come`, () => this.answers.length >= count);
  }

  /** Waits until this text has come. */
  receives(text: string): Promise<void> {
    return this.#until(`${text} has come`, () => this.received.includes(text));
  }

  /** Waits until the service ends the connection in order, with no bytes but the answers returned so far. */
  async ending(): Promise<void> {
    await this.#change('the connection has ended', () => this.isEnded);
    if (this.received !== '') throw new Error(`More bytes came than the expected answers: ${this.#rest}`);
    if (this.#ending !== 'FIN') throw new Error('The service has reset the connection');
  }

  /** Closes this side, and waits for the same end; a reset may follow a FIN. */
  async hangUp(): Promise<void> {
    this.finish();
    await this.closed;
    await this.ending();
  }

  /** Waits until a service in this process has closed its socket. */
  release(): Promise<void> {
    return until('the service has closed its socket', () => !this.isHeld);
  }

  /** @throws {Error} if the condition does not hold when the connection ends, or not in time */
  async #until(what: string, hasCome: () => boolean): Promise<void> {
    await this.#change(what, () => hasCome() || this.isEnded);
    if (!hasCome()) throw new Error(`The connection has ended (${this.#ending}) before ${what}: ${this.#rest}`);
  }

  /** Waits for a condition that only an event of the connection can change. */
  async #change(what: string, holds: () => boolean): Promise<void> {
    const waiting = async (): Promise<void> => {
      while (!holds()) await once(this.#news, 'news');
    };
    if (!holds()) await inTime(waiting(), () => `${what}: ${this.#rest}`);
  }

  get #served(): Socket | undefined {
    return accepted.get(this.socket.localPort ?? 0);
  }

  get #rest(): string {
    return JSON.stringify(this.received.slice(0, 2_000));
  }
}

/** Creates a plant, as `create` does, on a connection of its own. Returns 200, the error number, or undefined. */
export async function ask(url: string, token = TOKEN, id = 1): Promise<number | undefined> {
  const client = await RawClient.open(url).catch(() => undefined);
  const result = await client?.ask(requestTo(url, token, JSON.stringify(monstera(id)), ['Connection: close']));
  client?.socket.destroy();
  return result;
}

/** Returns a request that creates a plant below a base URL. */
export function requestTo(url: string, token: string, body: string, more: readonly string[] = []): string {
  const line = `POST ${new URL(`${url}/plants`).pathname} HTTP/1.1`;
  return message({ line, authorization: [`Authorization: Bearer ${token}`], more, body });
}

/** Opens a connection with the head of a request, for whose body of 25 bytes the service waits. */
export async function openRequest(url: string): Promise<RawClient> {
  const client = await RawClient.open(url);
  client.socket.write(HEAD);
  await client.receives('100 Continue');
  return client;
}

/** Sends the packets, returns the expected number of answers, and hangs up; more bytes and a reset are errors. */
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
  await client.hangUp();
  return answers;
}

/** Parses the first answer as in RFC 9112 §6.3; if it is incomplete, returns how many bytes it has at least. */
function parseAnswer(received: string, method: string): { answer: RawAnswer; rest: string } | number {
  const end = received.indexOf('\r\n\r\n');
  if (end < 0) return received.length + 1;
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
  if (received.length < start + length) return start + length;
  const body = Buffer.from(received.slice(start, start + length), 'latin1').toString('utf8');
  return { answer: { statusLine, headers, body }, rest: received.slice(start + length) };
}
