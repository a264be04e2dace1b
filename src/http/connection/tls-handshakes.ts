import type { Socket } from 'node:net';
import type { Occupant, Places } from './places.js';

/** A TLS handshake, which waits for its client. */
class TlsHandshake implements Occupant {
  readonly isInUse = false;
  readonly hasSucceeded = false;
  readonly since = performance.now();

  constructor(readonly socket: Socket) {
    // Ignores errors: `close` follows.
    socket.on('error', () => undefined);
  }
}

/**
 * The TLS handshakes of a server. A handshake holds a place until its secured connection takes one. The two have different
 * sockets, which Node does not link, so their peer address identifies them.
 */
export class TlsHandshakes {
  readonly #byPeer = new Map<string, TlsHandshake>();

  constructor(private readonly places: Places) {}

  begin(socket: Socket): void {
    const peer = peerOf(socket);
    const handshake = new TlsHandshake(socket);
    // If there is no room, PublicServer refuses the connection after the handshake.
    this.places.makeRoom();
    this.places.take(handshake);
    this.#byPeer.set(peer, handshake);
    socket.once('close', () => {
      if (this.#byPeer.get(peer) === handshake) this.#byPeer.delete(peer);
    });
  }

  /** Frees the place of the handshake that has secured a connection, unless its socket has closed meanwhile. */
  complete(secured: Socket): void {
    const peer = peerOf(secured);
    const handshake = this.#byPeer.get(peer);
    this.#byPeer.delete(peer);
    if (handshake !== undefined) this.places.free(handshake);
  }

  closeAll(): void {
    for (const { socket } of this.#byPeer.values()) socket.destroy();
  }
}

/** Identifies a TCP connection. */
function peerOf({ localAddress, remoteAddress, remotePort }: Socket): string {
  return `${localAddress} ${remoteAddress} ${remotePort}`;
}
