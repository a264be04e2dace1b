import { subscribe } from 'node:diagnostics_channel';
import { fstatSync } from 'node:fs';
import type { LoggerService } from '@nestjs/common';
import { destination, type DestinationStream, type Level, type Logger, pino, stdTimeFunctions } from 'pino';
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
  readonly #quiet: readonly string[];

  private constructor(level: Level, stream: LogStream, quiet: readonly string[]) {
    this.#quiet = quiet;
    this.#logger = pino(
      {
        level,
        base: null,
        messageKey: 'message',
        timestamp: stdTimeFunctions.isoTime,
        formatters: { level: (label) => ({ level: label }) },
      },
      stream,
    );
  }

  /**
   * @param level minimum severity to log
   * @param options.isShared whether other processes log to the same stdout
   * @param options.quiet contexts whose lines of level info are logged at debug, because another process logs them
   */
  static async create(
    level: Level,
    { isShared = false, quiet = [] }: { readonly isShared?: boolean; readonly quiet?: readonly string[] } = {},
  ): Promise<StructuredLogger> {
    if (process.stdout.isTTY) {
      const { createTerminalStream } = await import('./terminal-stream.js');
      return new StructuredLogger(level, createTerminalStream(process.stdout), quiet);
    }
    // Writes to a file are atomic at any length: https://man7.org/linux/man-pages/man2/write.2.html#BUGS
    return new StructuredLogger(level, createStdoutStream(isShared && !fstatSync(1).isFile()), quiet);
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
    this.#write(this.#quiet.includes(String(more.at(-1))) ? 'debug' : 'info', message, more);
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

/**
 * Writes in the background, and the lines of some milliseconds together. Each write wakes a thread, which competes with
 * the next request of a lone client.
 *
 * @param isShared whether stdout is a pipe or a socket to which other processes write
 */
function createStdoutStream(isShared: boolean): LogStream {
  const maxWrite = isShared ? { maxWrite: ATOMIC_WRITE } : {};
  const stdout = destination({ dest: 1, sync: false, maxLength: MAX_WAITING, ...maxWrite });
  let lines: string[] = [];
  let isWritten = true;
  let isBroken = false;
  let timer: NodeJS.Timeout | undefined;
  stdout.on('drain', () => (isWritten = true));
  // Losing the log reader must not stop the service. After EPIPE, the destination discards all lines without an event.
  stdout.on('error', () => (isBroken = true));
  const writeTo = (stream: DestinationStream): void => {
    // The destination joins whole lines, each write up to its limit.
    for (const text of isShared ? lines : [lines.join('')]) stream.write(text);
    lines = [];
  };
  const write = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (lines.length === 0) return;
    isWritten = false;
    writeTo(stdout);
  };
  process.once('exit', () => {
    stdout.flushSync();
    // The process would not wait for a write in the background.
    writeTo(destination({ dest: 1, sync: true }).on('error', () => undefined));
  });
  return {
    write(line) {
      lines.push(line);
      timer ??= setTimeout(write, WRITE_INTERVAL);
    },
    flush(done) {
      write();
      if (isWritten || isBroken) done();
      else stdout.once('drain', done).once('error', done);
    },
  };
}
