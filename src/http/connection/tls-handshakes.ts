import type { Socket } from 'node:net';
import type { OpenConnection } from './open-connections.js';

/** A TLS handshake, which waits for its client. */
export class TlsHandshake implements OpenConnection {
  readonly isInUse = false;
  readonly hasSucceeded = false;
  readonly since = performance.now();

  constructor(readonly socket: Socket) {
    // No handling needed: `close` follows.
    socket.on('error', () => undefined);
  }
}

/**
 * The TLS handshakes of a server. A handshake and the connection that it secures have different sockets. Node documents no
 * link between the two, so their peer links them.
 */
export class TlsHandshakes {
  readonly #byPeer = new Map<string, TlsHandshake>();

  all(): Iterable<TlsHandshake> {
    return this.#byPeer.values();
  }

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
