/**
 * Bytes that the parser gets at once; more only up to the next blank line, which ends the headers of a request, or the
 * last chunk of a body.
 */
const PORTION = 512;

/** Lines that the parser gets at once of a chunked body: each chunk has two, and takes about 5 µs. */
const MAX_LINES = 16;

/** Such lines in a turn, see {@link Turns}. */
const MAX_LINES_IN_TURN = 256;

const LINE_FEED = 10;
const BLANK_LINE = '\r\n\r\n';

/** Bytes that a chunk occupies besides its content. */
const CHUNK_COST = 512;

/** The part of a message that the parser expects next. */
export type Part = 'head' | 'body' | 'chunks' | 'chunks in turn' | 'unread chunks';

/**
 * Input that waits for the parser.
 *
 * It leaves in portions: a packet may hold thousands of requests, or thousands of body chunks, and each of them occupies
 * much more memory once it is parsed.
 */
export class UnparsedInput {
  #chunks: Buffer[] = [];
  #cost = 0;

  /** Bytes of memory that the input occupies. */
  get cost(): number {
    return this.#cost;
  }

  get isEmpty(): boolean {
    return this.#chunks.length === 0;
  }

  add(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#cost += costOf(chunk);
  }

  /** Removes the next portion and returns it, or undefined if this input has to wait, or there is none. */
  take(part: Part): Buffer | undefined {
    const [chunk] = this.#chunks;
    if (chunk === undefined) return undefined;
    const length = portionLength(chunk, part);
    if (length === 0) return undefined;
    if (length < chunk.length) this.#chunks[0] = chunk.subarray(length);
    else {
      this.#chunks.shift();
      this.#cost -= costOf(chunk);
    }
    return chunk.subarray(0, length);
  }

  clear(): void {
    this.#chunks = [];
    this.#cost = 0;
  }
}

function portionLength(chunk: Buffer, part: Part): number {
  if (part === 'chunks') return Math.min(endOfMessage(chunk, PORTION), endOfLines(chunk, MAX_LINES));
  if (part === 'chunks in turn') return Math.min(endOfMessage(chunk, PORTION), endOfLines(chunk, MAX_LINES_IN_TURN));
  const end = endOfMessage(chunk, part === 'body' ? PORTION : 0);
  // A small body may still be read completely before its request is answered, so that the connection can stay open.
  return part === 'unread chunks' && end > PORTION ? 0 : end;
}

/** Returns where a message may end: after the first blank line from here on. */
function endOfMessage(chunk: Buffer, from: number): number {
  if (chunk.length <= PORTION) return chunk.length;
  const blankLine = chunk.indexOf(BLANK_LINE, from);
  return blankLine < 0 ? chunk.length : blankLine + BLANK_LINE.length;
}

function endOfLines(chunk: Buffer, count: number): number {
  let end = 0;
  for (let line = 0; line < count; line += 1) {
    const next = chunk.indexOf(LINE_FEED, end);
    if (next < 0) return chunk.length;
    end = next + 1;
  }
  return end;
}

/** A part of a chunk keeps all of it in memory. */
function costOf({ buffer }: Buffer): number {
  return buffer.byteLength + CHUNK_COST;
}
