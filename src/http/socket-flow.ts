import type { Socket } from 'node:net';

/**
 * Reads the input of a connection, holds it, or discards it. Held input waits in the operating system, and so with the client.
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
   * Ends the output, and discards the input before Node's parser spends time and memory on it. To close the socket at once
   * would reset the connection because of unread input, and the client would lose the last answer (RFC 9112 §9.6).
   */
  end(): void {
    const { socket } = this;
    socket.end();
    // A socket that its parser consumes is only read again by Node's listener for `resume` (`onSocketResume`). After that,
    // a new listener for `data` takes the input from the parser (`socketListenerWrap`), as a handler of Upgrade would.
    socket.once('resume', () => socket.removeAllListeners('data').on('data', () => undefined));
    // A socket that is not paused would not emit `resume`.
    socket.pause().resume();
  }
}
