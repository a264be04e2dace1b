import type { Socket } from 'node:net';

/** Bytes of an answer that the socket gets at once: a TLS socket keeps them a second time, encrypted. */
const PORTION = 65_536;

/** Characters beyond which an answer is encoded before it waits for its client: as a string, it takes up to thrice its bytes. */
const LONG_ANSWER = 16_384;

/** A part of an answer, as Node's `Writable` has it. */
export interface AnswerPart {
  readonly chunk: Buffer | string;
  readonly encoding: BufferEncoding;
}

type Callback = (error?: Error | null) => void;

/** Passes answers to a socket, and tells what its client has not taken of them. */
export class AnswerWriter {
  #begun: number | undefined;
  /** Bytes of the answer that the socket has not got yet. */
  #rest = 0;

  constructor(private readonly socket: Socket) {}

  /** Bytes that the client has not taken. */
  get untaken(): number {
    return this.socket.writableLength + this.#rest;
  }

  /** Milliseconds for which the client has not taken all of the answer. */
  get duration(): number {
    return this.#begun === undefined ? 0 : performance.now() - this.#begun;
  }

  /** @param callback called when the client, or its operating system, has taken all */
  write(parts: readonly AnswerPart[], callback: Callback): void {
    this.#begun = performance.now();
    const done: Callback = (error) => {
      this.#begun = undefined;
      callback(error);
    };
    // Node ends an answer with an empty chunk, which would cost a system call.
    const contents = parts.filter(({ chunk }) => chunk.length > 0);
    const last = contents.pop();
    if (last === undefined) {
      done();
      return;
    }
    if (contents.length > 0) this.socket.cork();
    for (const { chunk, encoding } of contents) this.socket.write(chunk, encoding);
    const { chunk, encoding } = last;
    if (typeof chunk !== 'string') this.#writePortions(chunk, done);
    else if (chunk.length > LONG_ANSWER) this.#writePortions(Buffer.from(chunk, encoding), done);
    else this.socket.write(chunk, encoding, done);
    this.socket.uncork();
  }

  #writePortions(answer: Buffer, done: Callback): void {
    const rest = answer.subarray(PORTION);
    this.#rest = rest.length;
    this.socket.write(answer.subarray(0, PORTION), (error) => {
      if (error || rest.length === 0) done(error);
      else this.#writePortions(rest, done);
    });
  }
}
