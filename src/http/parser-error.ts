import type { Socket } from 'node:net';
import { ContractException } from '../contract/contract.exception.js';

/** What Node's parser says of an error: the packet that it is in, and how far into it the parser came. */
export interface ParserError extends Error {
  readonly code?: string;
  readonly rawPacket?: Uint8Array;
  readonly bytesParsed?: number;
}

/** Milliseconds that the end of a line is waited for, to tell a long URL from a long header. */
const PATIENCE = 1_000;

/** Bytes at the end of a line that tell whether it is a request line. */
const VERSION_LENGTH = ' HTTP/1.1\r'.length;

/** What a client is told of an error that the parser found. */
export function exceptionFor(error: ParserError): ContractException {
  switch (error.code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ContractException(408);
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new ContractException(413, 'The chunk extensions of the body are too large: send none.');
    case 'HPE_HEADER_OVERFLOW':
      return new ContractException(431);
    case 'HPE_INVALID_EOF_STATE':
      return new ContractException(400, 'The request ended before it was complete.');
    default:
      return new ContractException(400);
  }
}

/**
 * The same for an error in the head of a message: the parser has one error for a long URL and a long header, and shows
 * the last packet alone. Where that begins in the middle of the line, the end of the line has to tell.
 *
 * @param socket its `data` events are the packets that follow
 */
export async function exceptionForHead(error: ParserError, socket: Socket): Promise<ContractException> {
  if (error.code !== 'HPE_HEADER_OVERFLOW') return exceptionFor(error);
  const packet = Buffer.from(error.rawPacket ?? []);
  const parsed = packet.toString('latin1', 0, error.bytesParsed);
  const lineStart = parsed.lastIndexOf('\n', parsed.length - 2) + 1;
  const isFirstPacket = packet.length === socket.bytesRead;
  const isInUrl =
    lineStart > 0 || isFirstPacket
      ? // The line of a header begins with a name and a colon, if it comes so far.
        !/^[\w!#$%&'*+.^`|~-]+(?::|$)/.test(parsed.slice(lineStart))
      : / HTTP\/\d\.\d\r?$/.test(await endOfLine(packet.subarray(error.bytesParsed), socket));
  return isInUrl ? new ContractException(414) : exceptionFor(error);
}

/** The last bytes before the next line feed, or before the client pauses or ends. */
function endOfLine(begun: Buffer, socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let line = '';
    const conclude = (): void => {
      clearTimeout(timer);
      socket.off('data', read).off('end', conclude).off('close', conclude);
      resolve(line);
    };
    const read = (chunk: Buffer): void => {
      const end = chunk.indexOf('\n');
      line = (line + chunk.toString('latin1', 0, end < 0 ? chunk.length : end)).slice(-VERSION_LENGTH);
      if (end >= 0) conclude();
    };
    const timer = setTimeout(conclude, PATIENCE);
    socket.on('data', read).once('end', conclude).once('close', conclude);
    read(begun);
  });
}
