import { subscribe } from 'node:diagnostics_channel';
import { constants, openSync } from 'node:fs';
import type { LoggerService } from '@nestjs/common';
import { destination, type DestinationStream, type Level, type Logger, pino, stdTimeFunctions } from 'pino';
import { REQUEST_CHANNEL, type RequestMessage } from '../http/request-channel.js';

export interface LogStream extends DestinationStream {
  /** Calls `done` when the lines before are written. */
  flush(done: () => void): void;
}

const STDOUT = 1;

/** Milliseconds for which lines are collected before they are written. */
const WRITE_INTERVAL = 100;

/** Bytes of a write: whole lines, because each write wakes a thread and the reader of the log. More costs CPU (measured). */
const MAX_WRITE = 16_384;

/** Bytes of a write to a pipe that no other process can write into (PIPE_BUF of Linux). */
const MAX_SHARED_WRITE = 4_096;

/** Bytes that wait for a slow reader of the log; lines beyond are lost, so that the service goes on. */
const MAX_WAITING = 16_777_216;

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

  private constructor(level: Level, worker: number | undefined, stream: LogStream) {
    this.#logger = pino(
      {
        level,
        base: worker === undefined ? null : { worker },
        messageKey: 'message',
        timestamp: stdTimeFunctions.isoTime,
        formatters: { level: (label) => ({ level: label }) },
      },
      stream,
    );
  }

  /**
   * @param level minimum severity to log
   * @param worker the number of this process if it shares the log with others; each line has it
   */
  static async create(level: Level, worker?: number): Promise<StructuredLogger> {
    const maxWrite = worker === undefined ? MAX_WRITE : MAX_SHARED_WRITE;
    if (!process.stdout.isTTY) return new StructuredLogger(level, worker, createBackgroundStream(STDOUT, maxWrite));
    const { createTerminalFormat } = await import('./terminal-format.js');
    const format = createTerminalFormat();
    const terminal = createBackgroundStream(openTerminal(), maxWrite);
    return new StructuredLogger(level, worker, {
      write: (line) => terminal.write(format(line)),
      flush: (done) => terminal.flush(done),
    });
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

/** Opens the terminal once more: as stdout, a terminal that Ctrl+S holds would keep the process from ending. */
function openTerminal(): number {
  try {
    return openSync('/dev/fd/1', constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    // On Windows, or where the terminal belongs to another user.
    return STDOUT;
  }
}

/** Writes in the background; at exit, it writes what waits, as far as the reader takes it at once. */
function createBackgroundStream(descriptor: number, maxWrite: number): LogStream {
  let isExiting = false;
  let hasFailed = false;
  const stream = destination({
    dest: descriptor,
    sync: false,
    minLength: maxWrite - 1,
    maxWrite,
    maxLength: MAX_WAITING,
    periodicFlush: WRITE_INTERVAL,
    retryEAGAIN: () => !isExiting,
  });
  // Before pino's own listener, which waits for the reader on the main thread, where no signal can end it.
  process.prependListener('exit', () => {
    isExiting = true;
    try {
      // sonic-boom 4 would repeat a write that a full disk refuses for ever, here on the main thread.
      if (hasFailed) stream.destroy();
      else stream.flushSync();
    } catch {
      stream.destroy();
    }
  });
  // A log that cannot be written must not stop the service.
  stream.on('error', () => (hasFailed = true));
  stream.on('write', () => (hasFailed = false));
  return stream;
}
