import { constants, openSync } from 'node:fs';
import { destination, type DestinationStream } from 'pino';

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

/**
 * Creates a stream that writes to stdout in the background. At exit, it writes what waits, as far as the reader takes it at
 * once.
 *
 * @param options.isShared true if other processes write to the same stdout
 */
export function createBackgroundStream({ isShared }: { readonly isShared: boolean }): LogStream {
  const maxWrite = isShared ? MAX_SHARED_WRITE : MAX_WRITE;
  let isExiting = false;
  let hasFailed = false;
  const stream = destination({
    dest: process.stdout.isTTY ? openTerminal() : STDOUT,
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

/** Opens the terminal once more: as stdout, a terminal that Ctrl+S holds would keep the process from ending. */
function openTerminal(): number {
  try {
    return openSync('/dev/fd/1', constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    // On Windows, or where the terminal belongs to another user.
    return STDOUT;
  }
}
