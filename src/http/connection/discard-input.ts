import type { Socket } from 'node:net';

/**
 * Discards all input of a connection from now on. To leave it unread would reset the connection when the socket closes, and
 * the client would lose the last answer (RFC 9112 §9.6). Node's parser does not get it, so that strangers cost nothing after
 * their one answer: two of them that send chunks of one byte would otherwise make the creates of others 20 times slower.
 *
 * The functions of Node that are named here are in https://github.com/nodejs/node/blob/main/lib/_http_server.js.
 */
export function discardInput(socket: Socket): void {
  // 1. Only a paused socket emits `resume`.
  // 2. Node's own listener (`onSocketResume`), registered earlier, makes the socket read again.
  // 3. Ours follows: a new listener for `data` takes the socket from the parser (`socketListenerWrap`), as in an upgrade.
  socket.pause();
  socket.once('resume', () => socket.removeAllListeners('data').on('data', () => undefined));
  socket.resume();
}
