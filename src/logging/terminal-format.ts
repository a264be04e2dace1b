import { prettyFactory } from 'pino-pretty';

/** Matches C0 without the line feed, DEL and C1, which a terminal would execute. */
const CONTROLS = /(?!\n)\p{Cc}/gu;

/** Returns a function that makes log lines readable on a terminal, in colour and without control characters. */
export function createTerminalFormat(): (line: string) => string {
  return prettyFactory({
    colorize: true,
    messageKey: 'message',
    translateTime: 'SYS:HH:MM:ss.l',
    hideObject: true,
    messageFormat: (log, messageKey) => {
      const prefix = typeof log.worker === 'number' ? `[worker ${log.worker}] ` : '';
      const text = log.requestId === undefined ? linesOf(log[messageKey], log.stack) : describeRequest(log);
      return (prefix + text).replace(CONTROLS, '\ufffd');
    },
  });
}

/** Returns the message, and below it the stack, which often begins with the message. */
function linesOf(message: unknown, stack: unknown): string {
  return typeof stack === 'string' ? `${String(message)}\n${stack}` : String(message);
}

function describeRequest(log: Readonly<Record<string, unknown>>): string {
  const { requestId, status, error, refusal, reason, duration, principal, address } = log;
  const time = typeof duration === 'number' ? `${duration}ms` : undefined;
  const labelled = Object.entries({ status, error, refusal, duration: time, principal, address, requestId, reason })
    .filter(([, value]) => typeof value === 'string' || typeof value === 'number')
    .map(([label, value]) => `${label}=${String(value)}`);
  return [subjectOf(log), ...labelled].join(' ');
}

function subjectOf({ method, path, error }: Readonly<Record<string, unknown>>): string {
  if (typeof method === 'string') return `${method} ${String(path)}`;
  // Input with another error is refused for its size or its time, and may be HTTP.
  return error === 400 ? 'not HTTP' : 'HTTP';
}
