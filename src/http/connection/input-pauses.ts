import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { PublicRequest } from '../message/public-request.js';

/** What InputPauses asks of its connection. */
interface Connection {
  /** Returns true while input must wait. */
  mustPause(): boolean;
  /** Refuses the input that is incomplete. */
  refuseOverdue(): void;
}

/**
 * Pauses the input of a connection while `mustPause`:
 *
 * | state  | what the client sends                                 | if it is late                       |
 * |--------|-------------------------------------------------------|-------------------------------------|
 * | read   | goes to Node's parser                                 | it is refused                       |
 * | paused | waits in the operating system, and so with the client | it has a timeout from the next read |
 *
 * Node reports late input once, by a clock that also runs while input is paused: hence that timeout.
 *
 * The functions of Node that are named here are in https://github.com/nodejs/node/blob/main/lib/_http_server.js and
 * https://github.com/nodejs/node/blob/main/lib/_http_incoming.js.
 */
export class InputPauses {
  /** The incomplete input that Node has reported. A head becomes a request when its headers are complete. */
  #late: 'a head' | PublicRequest | undefined;
  /** When the last pause ended. */
  #pauseEnd: number | 'no pause yet' | 'pause goes on' = 'no pause yet';
  /** Waits until the time of late input is over. */
  #timer: NodeJS.Timeout | undefined;

  /** @param timeout milliseconds that the client has after a pause */
  constructor(
    private readonly socket: Socket,
    private readonly timeout: number,
    private readonly connection: Connection,
  ) {
    if (socket instanceof TLSSocket) readAsStream(socket);
    // Node pauses and resumes the socket, too: it pauses a body that nothing reads, and resumes at the end of a message, when
    // something reads a body (`readStart`), and when the client has taken what Node waited for (`socketOnDrain`).
    socket.on('pause', () => (this.#pauseEnd = 'pause goes on'));
    socket.on('resume', () => this.#resumed());
    socket.on('close', () => clearTimeout(this.#timer));
  }

  /** Reads or pauses, after something has changed that `mustPause` depends on. */
  readOrPause(): void {
    if (this.connection.mustPause()) this.socket.pause();
    else this.socket.resume();
  }

  /**
   * Notes that input is late, as Node reports it.
   *
   * @param request undefined if its headers are not complete
   */
  noteLate(request: PublicRequest | undefined): void {
    this.#late = request ?? 'a head';
    this.#refuseIfOverdue();
  }

  /** Notes a request whose headers are complete now. */
  noteHeaders(request: PublicRequest): void {
    if (this.#late === 'a head') this.#late = request;
  }

  #resumed(): void {
    if (this.connection.mustPause()) this.socket.pause();
    // Node also resumes a new socket.
    else if (this.#pauseEnd === 'pause goes on') this.#pauseEnd = performance.now();
  }

  /** Refuses late input that is still incomplete when its time is over, and looks again then if it is not over yet. */
  #refuseIfOverdue(): void {
    clearTimeout(this.#timer);
    const isComplete = this.#late === undefined || (this.#late !== 'a head' && this.#late.complete);
    if (isComplete || this.socket.destroyed) return;
    const left = this.#timeLeft();
    if (left > 0) {
      this.#timer = setTimeout(() => this.#refuseIfOverdue(), left);
    } else {
      this.#late = undefined;
      this.connection.refuseOverdue();
    }
  }

  /** Returns the milliseconds that the client has left to complete late input. */
  #timeLeft(): number {
    if (this.#pauseEnd === 'no pause yet') return 0;
    if (this.#pauseEnd === 'pause goes on') return this.timeout;
    return this.#pauseEnd + this.timeout - performance.now();
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
