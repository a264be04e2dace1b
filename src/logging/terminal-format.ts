import { prettyFactory } from 'pino-pretty';

/** Matches the possible forms of a control character in a line of JSON: an escape sequence, or the character itself. */
const ESCAPES = /\\(?:u[\da-f]{4}|.)|[\u007f-\u009f]/g;

/** C0 without the line feed, DEL and C1: a terminal would execute them. */
const CONTROLS = /^(?:\\u00(?:[01].|7f|[89].)|\\[bfrt]|[\u007f-\u009f])$/;

/** Returns a function that makes log lines readable on a terminal, in colour and without control characters. */
export function createTerminalFormat(): (line: string) => string {
  const format = prettyFactory({
    colorize: true,
    messageKey: 'message',
    translateTime: 'SYS:HH:MM:ss.l',
    hideObject: true,
    messageFormat: (log, messageKey) => {
      const { requestId, method, path, status, error, refusal, reason, duration, principal, address, stack } = log;
      const { worker } = log;
      const prefix = typeof worker === 'number' ? `[worker ${worker}] ` : '';
      if (requestId === undefined) return prefix + linesOf(log[messageKey], stack);
      // Only input with error 400 may be something other than HTTP: the others are refused for their size or time.
      const subject = typeof method === 'string' ? `${method} ${String(path)}` : error === 400 ? 'not HTTP' : 'HTTP';
      const time = typeof duration === 'number' ? `${duration}ms` : undefined;
      const labelled = Object.entries({ status, error, refusal, duration: time, principal, address, requestId, reason })
        .filter(([, value]) => typeof value === 'string' || typeof value === 'number')
        .map(([label, value]) => `${label}=${String(value)}`);
      return prefix + [subject, ...labelled].join(' ');
    },
  });
  return (line) => format(line.replace(ESCAPES, (text) => (CONTROLS.test(text) ? '\ufffd' : text)));
}

/** Returns the message, and below it the stack, which often begins with the message. */
function linesOf(message: unknown, stack: unknown): string {
  return typeof stack === 'string' ? `${String(message)}\n${stack}` : String(message);
}
