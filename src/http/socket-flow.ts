import type { Socket } from 'node:net';

/**
 * Reads, holds or discards the input of a connection. Held input waits in the operating system, and so with the client.
 * The functions of Node that are named here are in https://github.com/nodejs/node/blob/main/lib/_http_server.js and
 * https://github.com/nodejs/node/blob/main/lib/_http_incoming.js.
 */
export class SocketFlow {
  /** @param mustHold returns true while input must be held */
  constructor(
    private readonly socket: Socket,
    private readonly mustHold: () => boolean,
  ) {
    // Node resumes the socket, too: at the end of a message and when something reads a body (`readStart`), and when the
    // client has taken what Node waited for (`socketOnDrain`).
    socket.on('resume', () => {
      if (mustHold()) socket.pause();
    });
  }

  /** Reads or holds, after something has changed that `mustHold` depends on. */
  update(): void {
    if (this.mustHold()) this.socket.pause();
    else this.socket.resume();
  }

  /**
   * Discards all input from now on, before Node's parser spends time and memory on it. To leave it unread would reset the
   * connection when the socket closes, and the client would lose the last answer (RFC 9112 §9.6).
   */
  discard(): void {
    const { socket } = this;
    // A new listener for `data` takes the input from the parser (`socketListenerWrap`), as a handler of Upgrade would. Not
    // before Node's own listener for `resume` (`onSocketResume`), which alone lets a socket read again that the parser has read.
    socket.once('resume', () => socket.removeAllListeners('data').on('data', () => undefined));
    // A socket that is not paused would not emit `resume`.
    socket.pause().resume();
  }
}
