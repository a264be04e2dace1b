import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { LoggerService } from '@nestjs/common';
import { destination, type DestinationStream, type Level, type Logger, pino } from 'pino';
import { REQUEST, type RequestMessage } from '../http/public-response.js';

/** Bytes that may wait for whoever reads the log; what comes beyond is lost, and not the service. */
const MAX_WAITING = 16_777_216;

/** What Nest says of a start interests nobody who has not asked for it. */
const NEST_AT_START = new Set(['NestFactory', 'InstanceLoader', 'RoutesResolver', 'RouterExplorer', 'NestApplication']);

/** Nest's log and that of the requests: on stdout one JSON object a line, and on a terminal readable lines. */
export class StructuredLogger implements LoggerService {
  readonly #logger: Logger;

  private constructor(level: Level, stream: DestinationStream) {
    this.#logger = pino(
      {
        level,
        base: null,
        messageKey: 'message',
        timestamp: timestamp(),
        formatters: { level: (label) => ({ level: label }) },
      },
      stream,
    );
  }

  /** @param level the least grave one that is logged */
  static async create(level: Level): Promise<StructuredLogger> {
    if (process.stdout.isTTY) {
      const { createTerminalStream } = await import('./terminal-stream.js');
      return new StructuredLogger(level, createTerminalStream(process.stdout));
    }
    return new StructuredLogger(level, createStdoutStream());
  }

  /** Logs each request from now on, until the function that it returns is called. */
  logRequests(): () => void {
    const log = (message: unknown): void => this.#request(message as RequestMessage);
    subscribe(REQUEST, log);
    return () => void unsubscribe(REQUEST, log);
  }

  log(message: unknown, ...more: unknown[]): void {
    const context = more.at(-1);
    this.#write(typeof context === 'string' && NEST_AT_START.has(context) ? 'debug' : 'info', message, more);
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

  /** Nest puts the context last, and before it, for an error, the stack. */
  #write(level: Level, message: unknown, more: readonly unknown[]): void {
    const context = more.at(-1);
    const stack = more.at(-2);
    const text = message instanceof Error ? message.message : String(message);
    this.#logger[level]({ context, stack: message instanceof Error ? message.stack : stack }, text);
  }

  /** What a client did is in order; what the service could not do is not. */
  #request(message: RequestMessage): void {
    const level = message.error === 500 ? 'error' : message.error === 503 ? 'warn' : 'info';
    this.#logger[level](message, 'request');
  }
}

/** The field `time`, whose text is made once a millisecond. */
function timestamp(): () => string {
  let last = 0;
  let text = '';
  return () => {
    const now = Date.now();
    if (now !== last) {
      last = now;
      text = `,"time":"${new Date(now).toISOString()}"`;
    }
    return text;
  };
}

/** Writes in the background, what comes in one turn of the event loop at once, and at exit what is left. */
function createStdoutStream(): DestinationStream {
  const stdout = destination({ dest: 1, sync: false, maxLength: MAX_WAITING });
  // Whoever read the log is gone; those who create plants are not.
  stdout.on('error', () => undefined);
  let lines = '';
  const write = (): void => {
    stdout.write(lines);
    lines = '';
  };
  process.once('exit', () => {
    write();
    stdout.flushSync();
  });
  return {
    write(line) {
      if (lines === '') setImmediate(write);
      lines += line;
    },
  };
}
