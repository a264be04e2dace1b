import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

/**
 * The input of a connection. It goes to Node's parser, except while it must wait: it then stays in the operating system, and
 * so with the client.
 *
 * The functions of Node that are named here are in https://github.com/nodejs/node/blob/main/lib/_http_server.js and
 * https://github.com/nodejs/node/blob/main/lib/_http_incoming.js.
 */
export class ClientInput {
  /** @param mustPause returns true while input must wait */
  constructor(
    private readonly socket: Socket,
    private readonly mustPause: () => boolean,
  ) {
    if (socket instanceof TLSSocket) readAsStream(socket);
    // Node resumes the socket, too: at the end of a message, when something reads a body (`readStart`), and when the client
    // has taken what Node waited for (`socketOnDrain`).
    socket.on('resume', () => {
      if (mustPause()) socket.pause();
    });
  }

  /** Reads or pauses, after something has changed that `mustPause` depends on. */
  readOrPause(): void {
    if (this.mustPause()) this.socket.pause();
    else this.socket.resume();
  }

  /**
   * Discards all input from now on. To leave it unread would reset the connection when the socket closes, and the client
   * would lose the last answer (RFC 9112 §9.6). Node's parser does not get it, so that strangers cost nothing after their one
   * answer: two of them that send chunks of one byte would otherwise make the creates of others 20 times slower.
   */
  discard(): void {
    const { socket } = this;
    // 1. Only a paused socket emits `resume`.
    // 2. Node's own listener (`onSocketResume`), registered earlier, makes the socket read again.
    // 3. Ours follows: a new listener for `data` takes the socket from the parser (`socketListenerWrap`), as in an upgrade.
    socket.pause();
    socket.once('resume', () => socket.removeAllListeners('data').on('data', () => undefined));
    socket.resume();
  }
}

/**
 * Makes Node read a TLS socket as a stream, as it does if there is another listener for `data`: what was decrypted before a
 * pause then waits until the pause ends. Otherwise Node's parser gets it, and refuses it (HPE_PAUSED). Without TLS, what
 * arrives in a pause stays in the operating system.
 */
function readAsStream(socket: TLSSocket): void {
  socket.on('data', () => undefined);
}
