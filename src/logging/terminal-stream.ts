import { PinoPretty } from 'pino-pretty';
import type { LogStream } from './structured-logger.js';

/** Matches the possible forms of a control character in a line of JSON: an escape sequence, or the character itself. */
const ESCAPES = /\\(?:u[\da-f]{4}|.)|[\u007f-\u009f]/g;

/** C0 without the line feed, DEL and C1: a terminal would execute them. */
const CONTROLS = /^(?:\\u00(?:[01].|7f|[89].)|\\[bfrt]|[\u007f-\u009f])$/;

/** Creates a stream that shows log lines readably and in colour, without control characters. */
export function createTerminalStream(terminal: NodeJS.WritableStream): LogStream {
  const pretty = PinoPretty({
    destination: terminal,
    colorize: true,
    messageKey: 'message',
    translateTime: 'SYS:HH:MM:ss.l',
    hideObject: true,
    messageFormat: (log, messageKey) => {
      const { requestId, method, path, status, error, refusal, reason, duration, principal, address, stack } = log;
      const { worker } = log;
      const prefix = typeof worker === 'number' ? `[worker ${worker}] ` : '';
      if (requestId === undefined) return prefix + String(stack ?? log[messageKey]);
      // Only input with error 400 may be something other than HTTP: the others are refused for their size or time.
      const subject = typeof method === 'string' ? `${method} ${String(path)}` : error === 400 ? 'not HTTP' : 'HTTP';
      const time = typeof duration === 'number' ? `${duration}ms` : undefined;
      const labelled = Object.entries({ status, error, refusal, duration: time, principal, address, requestId, reason })
        .filter(([, value]) => typeof value === 'string' || typeof value === 'number')
        .map(([label, value]) => `${label}=${String(value)}`);
      return prefix + [subject, ...labelled].join(' ');
    },
  });
  return {
    write: (line) => void pretty.write(line.replace(ESCAPES, (text) => (CONTROLS.test(text) ? '\ufffd' : text))),
    // pino-pretty passes lines on in the turn of the event loop in which it gets them.
    flush: (done) => void setImmediate(done),
  };
}
