import { constants, fstatSync, openSync } from 'node:fs';
import { destination, type DestinationStream } from 'pino';

export interface LogStream extends DestinationStream {
  /** Calls `done` when all earlier lines are written. */
  flush(done: () => void): void;
}

const STDOUT = 1;

/** Milliseconds for which lines are collected before they are written. */
const WRITE_INTERVAL = 100;

/** Maximum bytes of the lines in one write. Each write wakes a thread and the reader; more bytes cost CPU (measured). */
const MAX_WRITE = 16_384;

/** Maximum bytes of a write to a shared pipe: no other process can write in between (PIPE_BUF of Linux). */
const MAX_SHARED_WRITE = 4_096;

/** Maximum bytes that wait for a slow reader of the log. Further lines are lost, so that the service goes on. */
const MAX_WAITING = 16_777_216;

/**
 * Creates a stream that writes to stdout in the background. At exit, it writes the lines that wait:
 *
 * | at exit                                | what happens                                                             |
 * |----------------------------------------|--------------------------------------------------------------------------|
 * | the reader takes all lines at once     | all are written                                                          |
 * | the reader has stopped, or is slow     | those that it does not take are lost: no signal could end a wait for it  |
 * | the last write has failed              | all are lost: sonic-boom 4 would repeat the write on this thread for ever |
 *
 * @param options.isShared true if other processes write to the same stdout
 */
export function createBackgroundStream({ isShared }: { readonly isShared: boolean }): LogStream {
  const maxWrite = isShared ? MAX_SHARED_WRITE : MAX_WRITE;
  let isExiting = false;
  let hasFailed = false;
  const stream = destination({
    dest: openStdout(),
    sync: false,
    // For strings, sonic-boom 4.2 measures all lines that wait again at each line: 4 µs of a create (measured).
    contentMode: 'buffer',
    minLength: maxWrite - 1,
    maxWrite,
    maxLength: MAX_WAITING,
    periodicFlush: WRITE_INTERVAL,
    retryEAGAIN: () => !isExiting,
  });
  // This listener runs before pino's own, which would wait for the reader on the main thread, where no signal can end it.
  process.prependListener('exit', () => {
    isExiting = true;
    try {
      if (hasFailed) stream.destroy();
      else stream.flushSync();
    } catch {
      stream.destroy();
    }
  });
  // A log that cannot be written must not stop the service.
  stream.on('error', () => (hasFailed = true));
  stream.on('write', () => (hasFailed = false));
  const bytes = stream as unknown as { write(line: Uint8Array): boolean };
  return {
    write: (line) => bytes.write(Buffer.from(line)),
    // During a write, sonic-boom 4.2 calls back when that has ended: the second call writes the lines that came meanwhile.
    flush: (done) => stream.flush(() => stream.flush(done)),
  };
}

/**
 * Opens a terminal or a pipe again, with O_NONBLOCK: otherwise, a write that the reader does not take would keep the process
 * from ending. The flag of STDOUT itself is not certain: it changes for all processes that share it when a worker starts or
 * ends. A socket, as systemd and PM2 connect it, cannot be opened again: they kill a service that does not end.
 */
function openStdout(): number {
  if (!process.stdout.isTTY && !fstatSync(STDOUT).isFIFO()) return STDOUT;
  try {
    return openSync('/dev/fd/1', constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    // This fails on Windows, and where the terminal or the pipe belongs to another user.
    return STDOUT;
  }
}
