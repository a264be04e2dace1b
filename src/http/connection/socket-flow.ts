import type { Socket } from 'node:net';

/**
 * Reads, pauses or discards the input of a connection. Paused input waits in the operating system, and so with the client.
 * The functions of Node that are named here are in https://github.com/nodejs/node/blob/main/lib/_http_server.js and
 * https://github.com/nodejs/node/blob/main/lib/_http_incoming.js.
 */
export class SocketFlow {
  /** @param mustPause returns true while input must wait */
  constructor(
    private readonly socket: Socket,
    private readonly mustPause: () => boolean,
  ) {
    // Without a listener for `data` beside Node's own, the parser would read past the socket, and `discard` could not stop it.
    socket.on('data', () => undefined);
    // Node resumes the socket, too: at the end of a message and when something reads a body (`readStart`), and when the
    // client has taken what Node waited for (`socketOnDrain`).
    socket.on('resume', () => {
      if (mustPause()) socket.pause();
    });
  }

  /** Reads or pauses, after something has changed that `mustPause` depends on. */
  update(): void {
    if (this.mustPause()) this.socket.pause();
    else this.socket.resume();
  }

  /**
   * Discards all input from now on, before Node's parser spends time and memory on it. To leave it unread would reset the
   * connection when the socket closes, and the client would lose the last answer (RFC 9112 §9.6).
   */
  discard(): void {
    this.socket.removeAllListeners('data').on('data', () => undefined);
    this.socket.resume();
  }
}
