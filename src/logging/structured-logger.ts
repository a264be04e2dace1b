import { subscribe } from 'node:diagnostics_channel';
import { fstatSync } from 'node:fs';
import type { LoggerService } from '@nestjs/common';
import { destination, type DestinationStream, type Level, type Logger, pino } from 'pino';
import { REQUEST_CHANNEL, type RequestMessage } from '../http/request-channel.js';

/** Calls `done` when the lines before are written. */
export interface LogStream extends DestinationStream {
  flush(done: () => void): void;
}

/** Milliseconds for which lines are collected before they are written. */
const WRITE_INTERVAL = 10;

/** Bytes that wait for a slow reader of the log; lines beyond are lost, so that the service goes on. */
const MAX_WAITING = 16_777_216;

/** Bytes that a process can write to a full pipe without those of another one between them: PIPE_BUF of Linux. */
const ATOMIC_WRITE = 4_096;

/** The contexts of Nest's own lines about a start, which are not logged. The program reports a failed start on stderr. */
const NEST_START_CONTEXTS = new Set([
  'NestFactory',
  'InstanceLoader',
  'RoutesResolver',
  'RouterExplorer',
  'NestApplication',
]);

/** Nest's logger on pino: one JSON object a line on stdout, or readable lines on a terminal. */
export class StructuredLogger implements LoggerService {
  readonly #logger: Logger;

  private constructor(level: Level, stream: LogStream) {
    this.#logger = pino(
      {
        level,
        base: null,
        messageKey: 'message',
        timestamp: createTimestamp(),
        formatters: { level: (label) => ({ level: label }) },
      },
      stream,
    );
  }

  /**
   * @param level minimum severity to log
   * @param options.isShared whether other processes log to the same stdout
   */
  static async create(level: Level, { isShared = false } = {}): Promise<StructuredLogger> {
    if (process.stdout.isTTY) {
      const { createTerminalStream } = await import('./terminal-stream.js');
      return new StructuredLogger(level, createTerminalStream(process.stdout));
    }
    // Writes to a file are atomic at any length: https://man7.org/linux/man-pages/man2/write.2.html#BUGS
    return new StructuredLogger(level, createStdoutStream(isShared && !fstatSync(1).isFile()));
  }

  /** Logs the answers of the public port. */
  logRequests(requests: 'all' | 'failed'): void {
    subscribe(REQUEST_CHANNEL, (message) => {
      const request = message as RequestMessage;
      if (requests === 'all' || request.error !== undefined) this.#logRequest(request);
    });
  }

  /** Writes the lines that wait, so that output to stderr comes after them. */
  flush(): Promise<void> {
    return new Promise((resolve) => this.#logger.flush(() => resolve()));
  }

  log(message: unknown, ...more: unknown[]): void {
    this.#write('info', message, more);
  }

  fatal(message: unknown, ...more: unknown[]): void {
    this.#write('fatal', message, more);
  }

  error(message: unknown, ...more: unknown[]): void {
    this.#write('error', message, more);
  }

  warn(message: unknown, ...more: unknown[]): void {
    this.#write('warn', message, more);
  }

  debug(message: unknown, ...more: unknown[]): void {
    this.#write('debug', message, more);
  }

  verbose(message: unknown, ...more: unknown[]): void {
    this.#write('trace', message, more);
  }

  /** @param more the parameters after the message: the context comes last and, for an error, the stack before it */
  #write(level: Level, message: unknown, more: readonly unknown[]): void {
    const context = more.at(-1);
    if (typeof context === 'string' && NEST_START_CONTEXTS.has(context)) return;
    const stack = more.at(-2);
    const text = message instanceof Error ? message.message : String(message);
    this.#logger[level]({ context, stack: message instanceof Error ? message.stack : stack }, text);
  }

  #logRequest(message: RequestMessage): void {
    const level = message.error === 500 ? 'error' : message.error === 503 ? 'warn' : 'info';
    this.#logger[level](message, 'request');
  }
}

/** Formats the time once a millisecond, not once a line: the requests of a batch are logged together. */
function createTimestamp(): () => string {
  let time = 0;
  let text = '';
  return () => {
    const now = Date.now();
    if (now !== time) {
      time = now;
      text = `,"time":"${new Date(now).toISOString()}"`;
    }
    return text;
  };
}

/**
 * Writes in the background, and the lines of some milliseconds together. Each write wakes a thread, which competes with
 * the next request of a lone client.
 *
 * @param isShared whether stdout is a pipe or a socket to which other processes write
 */
function createStdoutStream(isShared: boolean): LogStream {
  const stdout = destination({
    dest: 1,
    sync: false,
    maxLength: MAX_WAITING,
    ...(isShared && { maxWrite: ATOMIC_WRITE }),
  });
  let isBroken = false;
  // Losing the log reader must not stop the service. After EPIPE, the destination discards all lines without an event.
  stdout.on('error', () => (isBroken = true));
  let lines = '';
  let isWritten = true;
  let timer: NodeJS.Timeout | undefined;
  stdout.on('drain', () => (isWritten = true));
  const parts = (): string[] => (isShared ? partsOf(lines, ATOMIC_WRITE) : [lines]);
  const write = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (lines === '') return;
    isWritten = false;
    for (const part of parts()) stdout.write(part);
    lines = '';
  };
  process.once('exit', () => {
    stdout.flushSync();
    // The process would not wait for a write in the background.
    const last = destination({ dest: 1, sync: true }).on('error', () => undefined);
    for (const part of parts()) last.write(part);
  });
  return {
    write(line) {
      lines += line;
      timer ??= setTimeout(write, WRITE_INTERVAL);
    },
    flush(done) {
      write();
      if (isWritten || isBroken) done();
      else stdout.once('drain', done).once('error', done);
    },
  };
}

/** Returns lines in parts of whole lines, each as long as possible up to a number of bytes, or else of one line. */
function partsOf(lines: string, maxBytes: number): string[] {
  const bytes = Buffer.from(lines);
  const parts: string[] = [];
  let begin = 0;
  while (bytes.length - begin > maxBytes) {
    const last = bytes.lastIndexOf('\n', begin + maxBytes - 1);
    const end = 1 + (last >= begin ? last : bytes.indexOf('\n', begin));
    parts.push(bytes.toString('utf8', begin, end));
    begin = end;
  }
  parts.push(bytes.toString('utf8', begin));
  return parts;
}
