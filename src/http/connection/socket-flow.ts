import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

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
    // Node's parser reads past the socket, unless that has another listener for `data`. With TLS, the parser would get what was
    // decrypted before a pause, and refuse it (HPE_PAUSED). Without TLS, what arrives in a pause stays in the operating system.
    if (socket instanceof TLSSocket) socket.on('data', () => undefined);
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
    const { socket } = this;
    // 1. A new listener for `data` takes the input from the parser (`socketListenerWrap`), as a handler of Upgrade would.
    // 2. It must come after Node's own listener for `resume` (`onSocketResume`), which alone lets a socket read again that the
    //    parser has read.
    socket.once('resume', () => socket.removeAllListeners('data').on('data', () => undefined));
    // 3. A socket that is not paused would not emit `resume`.
    socket.pause().resume();
  }
}
