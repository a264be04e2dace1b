import { subscribe } from 'node:diagnostics_channel';
import type { LoggerService } from '@nestjs/common';
import { type Level, type Logger, pino } from 'pino';
import { ANSWER_CHANNEL, type AnswerEvent } from '../http/message/answer-event.js';
import { createBackgroundStream, type LogStream } from './background-stream.js';

/**
 * The contexts of Nest's own lines about a start. They are not logged, not even errors: the program reports a failed start
 * on stderr.
 */
const UNLOGGED_NEST_CONTEXTS = new Set([
  'NestFactory',
  'InstanceLoader',
  'RoutesResolver',
  'RouterExplorer',
  'NestApplication',
]);

/** A Nest logger on pino, which writes one JSON object a line to stdout, or readable lines to a terminal. */
export class StructuredLogger implements LoggerService {
  readonly #logger: Logger;

  private constructor(level: Level, worker: number | undefined, stream: LogStream) {
    this.#logger = pino(
      {
        level,
        base: worker === undefined ? null : { worker },
        messageKey: 'message',
        timestamp: pino.stdTimeFunctions.isoTime,
        formatters: { level: (label) => ({ level: label }) },
      },
      stream,
    );
  }

  /**
   * @param level minimum severity to log
   * @param options.isShared true if other processes write to the same log
   * @param options.worker the number of this process if it is a worker; each line has it
   */
  static async create(
    level: Level,
    { isShared, worker }: { readonly isShared: boolean; readonly worker?: number | undefined },
  ): Promise<StructuredLogger> {
    const stream = createBackgroundStream({ isShared });
    if (!process.stdout.isTTY) return new StructuredLogger(level, worker, stream);
    const { createTerminalFormat } = await import('./terminal-format.js');
    const format = createTerminalFormat();
    return new StructuredLogger(level, worker, {
      write: (line) => stream.write(format(line)),
      flush: (done) => stream.flush(done),
    });
  }

  /** Logs the answers of the public port. */
  logRequests(requests: 'all' | 'failed'): void {
    subscribe(ANSWER_CHANNEL, (message) => {
      const answer = message as AnswerEvent;
      if (requests === 'all' || answer.error !== undefined) this.#logAnswer(answer);
    });
  }

  /** Writes the lines that wait, so that output to stderr comes after them. */
  flush(): Promise<void> {
    return new Promise((resolve) => this.#logger.flush(() => resolve()));
  }

  log(message: unknown, context?: unknown): void {
    this.#write('info', message, context);
  }

  fatal(message: unknown, context?: unknown): void {
    this.#write('fatal', message, context);
  }

  /** The logger of a context passes an undefined stack if there is none. */
  error(message: unknown, stack?: unknown, context?: unknown): void {
    this.#write('error', message, context, stack);
  }

  warn(message: unknown, context?: unknown): void {
    this.#write('warn', message, context);
  }

  debug(message: unknown, context?: unknown): void {
    this.#write('debug', message, context);
  }

  verbose(message: unknown, context?: unknown): void {
    this.#write('trace', message, context);
  }

  #write(level: Level, message: unknown, context: unknown, stack?: unknown): void {
    if (typeof context === 'string' && UNLOGGED_NEST_CONTEXTS.has(context)) return;
    const text = message instanceof Error ? message.message : String(message);
    this.#logger[level]({ context, stack: message instanceof Error ? message.stack : stack }, text);
  }

  #logAnswer(answer: AnswerEvent): void {
    this.#logger[levelOf(answer)](answer, 'request');
  }
}

/** Error 500 is a defect, and error 503 needs the operator. The client has caused all other errors. */
function levelOf({ error }: AnswerEvent): Level {
  if (error === 500) return 'error';
  return error === 503 ? 'warn' : 'info';
}
