import { subscribe } from 'node:diagnostics_channel';
import { ConsoleLogger, type LogLevel } from '@nestjs/common';
import { ANSWER_CHANNEL, type AnswerEvent } from '../http/answer-event.js';

/** Nest's levels from the least severe on, with their names in LOG_LEVEL and in the log. */
const LEVEL_NAMES = {
  verbose: 'trace',
  debug: 'debug',
  log: 'info',
  warn: 'warn',
  error: 'error',
  fatal: 'fatal',
} as const satisfies Record<LogLevel, string>;

const LEVELS = Object.keys(LEVEL_NAMES) as LogLevel[];

/** Maximum bytes that wait for a slow reader of the log. Further lines are dropped, so that the service goes on. */
const MAX_WAITING = 16_777_216;

/** Nest's logger, which writes one JSON object a line to stdout, or readable lines to a terminal. */
export class ServiceLogger extends ConsoleLogger {
  /** The levels to log once the service has started. */
  readonly #levels: LogLevel[];
  /** Lines that were dropped since the last written one. */
  #dropped = 0;

  /**
   * Logs only warnings and errors until `beginService`, because Nest has many other lines about a start.
   *
   * @param minimum severity to log
   */
  constructor(minimum: (typeof LEVEL_NAMES)[LogLevel]) {
    const first = LEVELS.findIndex((level) => LEVEL_NAMES[level] === minimum);
    super({
      json: !process.stdout.isTTY,
      prefix: 'Plant Store',
      logLevels: LEVELS.slice(Math.max(first, LEVELS.indexOf('warn'))),
    });
    this.#levels = LEVELS.slice(first);
  }

  /** Logs everything of at least the minimum severity from now on, and the answers of the public port. */
  beginService(requests: 'all' | 'failed'): void {
    this.setLogLevels(this.#levels);
    subscribe(ANSWER_CHANNEL, (message) => {
      const answer = message as AnswerEvent;
      if (requests === 'all' || answer.error !== undefined) this.#logAnswer(answer);
    });
    // Writes the lines that are corked, if the process ends within a turn.
    process.once('exit', () => process.stdout.uncork());
  }

  /** Prints lines of any level to stdout, where Nest prints errors to stderr. */
  protected override printMessages(...args: Parameters<ConsoleLogger['printMessages']>): void {
    const [messages, context = '', level = 'log', , ...others] = args;
    if (!this.#admitLine()) return;
    super.printMessages(messages, context, level, 'stdout', ...others);
  }

  /** Prints the names of docs/logs.md instead of Nest's. Other members of an error may have secrets. */
  protected override printAsJson(
    message: unknown,
    { context, logLevel, errorStack, error, params }: Parameters<ConsoleLogger['printAsJson']>[1],
  ): void {
    const line = this.stringifyJsonLogObject({
      level: LEVEL_NAMES[logLevel],
      time: new Date().toISOString(),
      context: context === '' ? undefined : context,
      message,
      stack: errorStack ?? error?.stack,
      params,
    });
    process.stdout.write(`${line}\n`);
  }

  /**
   * Logs an answer with one JSON.stringify: Nest's own costs 15 of 113 µs a create (measured), for values of any kind.
   */
  #logAnswer(answer: AnswerEvent): void {
    const level = levelOf(answer);
    if (process.stdout.isTTY) {
      this[level](describe(answer));
    } else if (this.isLevelEnabled(level) && this.#admitLine()) {
      corkForThisTurn();
      const line = { level: LEVEL_NAMES[level], time: new Date().toISOString(), ...answer, message: 'request' };
      process.stdout.write(`${JSON.stringify(line)}\n`);
    }
  }

  /**
   * Returns whether there is room for a line, and counts it as dropped otherwise. Before the next one, it logs how many
   * were.
   */
  #admitLine(): boolean {
    if (process.stdout.writableLength > MAX_WAITING) {
      this.#dropped += 1;
      return false;
    }
    if (this.#dropped > 0) {
      const dropped = this.#dropped;
      // Before `warn`, which asks for room, too.
      this.#dropped = 0;
      this.warn(`Lines dropped because the reader of the log is too slow: ${dropped}`, 'Log');
    }
    return true;
  }
}

/**
 * Lets the lines of this turn of the event loop go out in one system call: one a line costs 16 µs a create (measured).
 */
function corkForThisTurn(): void {
  const { stdout } = process;
  if (stdout.writableCorked > 0) return;
  stdout.cork();
  setImmediate(() => stdout.uncork());
}

/** Error 500 is a defect, and error 503 needs the operator. The client has caused all other errors. */
function levelOf({ error }: AnswerEvent): LogLevel {
  if (error === 500) return 'error';
  return error === 503 ? 'warn' : 'log';
}

/** Describes an answer for a terminal. JSON escapes control characters, which a client may have sent. */
function describe({ method = '-', path = '-', statusCode, ...others }: AnswerEvent): string {
  return `${method} ${path} ${statusCode} ${JSON.stringify(others)}`;
}
