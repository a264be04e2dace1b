import type { DestinationStream } from 'pino';
import { PinoPretty } from 'pino-pretty';

/** C0, DEL and C1 but for the line feed: on a terminal they are commands; as JSON escapes, and as they are. */
const CONTROLS = /\\u00(?:[01][\da-f]|7f|[89][\da-f])|\\[bfrt]|[\u007f-\u009f]/gi;

/** Readable, coloured lines for the person who looks at the terminal. */
export function createTerminalStream(): DestinationStream {
  const pretty = PinoPretty({
    colorize: true,
    messageKey: 'message',
    translateTime: 'SYS:HH:MM:ss.l',
    hideObject: true,
    messageFormat: (log, messageKey) => {
      const { requestId, method, path, status, error, duration, principal, stack } = log;
      if (requestId === undefined) return String(stack ?? log[messageKey]);
      const time = typeof duration === 'number' ? `${duration} ms` : undefined;
      const parts: unknown[] = [method ?? 'no HTTP', path, status, error, time, principal, requestId];
      return parts.filter((part) => typeof part === 'string' || typeof part === 'number').join(' ');
    },
  });
  return { write: (line) => void pretty.write(line.replace(CONTROLS, '\ufffd')) };
}
