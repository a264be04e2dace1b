import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

/**
 * The input of a connection. With HeadClock, this is the code that depends on how Node's HTTP server reads a socket, which its
 * documentation does not say. If Node changes that, test/http/memory, pipelining, slow-store or tls fail.
 *
 * Node's parser gets the input, except while input must wait: it then stays in the operating system, and the client cannot
 * send more than its buffers hold.
 *
 * The functions of Node that are named here are in https://github.com/nodejs/node/blob/main/lib/_http_server.js and
 * https://github.com/nodejs/node/blob/main/lib/_http_incoming.js.
 */
export class ClientInput {
  /** @param mustWait returns true while input must wait */
  constructor(
    private readonly socket: Socket,
    private readonly mustWait: () => boolean,
  ) {
    if (socket instanceof TLSSocket) readAsStream(socket);
    // Node also resumes the socket: at the end of a message, when something reads a body (`readStart`), and when the client
    // has taken what Node waited for (`socketOnDrain`).
    socket.on('resume', () => {
      if (mustWait()) socket.pause();
    });
  }

  /** Reads or pauses, after something has changed that `mustWait` depends on. */
  readOrPause(): void {
    if (this.mustWait()) this.socket.pause();
    else this.socket.resume();
  }

  /**
   * Discards all further input. If it stayed unread, the connection would be reset when the socket closes, and the client
   * would lose the last answer (RFC 9112 §9.6). Node's parser does not get this input: two clients that send chunks of one
   * byte would make the creates of others 20 times slower.
   */
  discard(): void {
    const { socket } = this;
    // Only a paused socket emits `resume`, in the next tick.
    socket.pause();
    socket.resume();
    // Node's own listener for `resume` (`onSocketResume`), which was added first, makes the socket read again. This one then
    // takes the socket from the parser: Node ends its parsing when a listener for `data` is added (`socketListenerWrap`), as in
    // an upgrade.
    socket.once('resume', () => socket.removeAllListeners('data').on('data', () => undefined));
  }
}

/**
 * Makes Node read a TLS socket as a stream, as it does if there is another listener for `data`. Input that was decrypted
 * before a pause then waits until the pause ends. Otherwise Node's parser would get this input and refuse it (HPE_PAUSED).
 * Without TLS, input that arrives in a pause stays in the operating system.
 */
function readAsStream(socket: TLSSocket): void {
  socket.on('data', () => undefined);
}
