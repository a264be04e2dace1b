import type { Socket } from 'node:net';
import type { OpenConnection } from './open-connections.js';

/** A TLS handshake, which waits for its client. */
export class TlsHandshake implements OpenConnection {
  readonly isInUse = false;
  readonly hasSucceeded = false;
  readonly isWaiting = true;
  readonly since = performance.now();

  constructor(readonly socket: Socket) {
    // No handling needed: `close` follows.
    socket.on('error', () => undefined);
  }

  answerTaken(): Promise<void> {
    return Promise.resolve();
  }
}

/** The TLS handshakes of a server. Node secures a connection with another socket, which has the same peer. */
export class TlsHandshakes {
  readonly #byPeer = new Map<string, TlsHandshake>();

  begin(socket: Socket): TlsHandshake {
    const peer = peerOf(socket);
    const handshake = new TlsHandshake(socket);
    this.#byPeer.set(peer, handshake);
    socket.once('close', () => this.#byPeer.get(peer) === handshake && this.#byPeer.delete(peer));
    return handshake;
  }

  /** Returns the handshake that has secured a connection; undefined if its own connection has ended. */
  end(secured: Socket): TlsHandshake | undefined {
    const peer = peerOf(secured);
    const handshake = this.#byPeer.get(peer);
    this.#byPeer.delete(peer);
    return handshake;
  }
}

/** Identifies a TCP connection. */
function peerOf({ localAddress, remoteAddress, remotePort }: Socket): string {
  return `${localAddress} ${remoteAddress} ${remotePort}`;
}
