import { ContractException } from '../../contract/contract.exception.js';

/** An error of Node's HTTP parser: the packet that it is in, and how many bytes of it were parsed. */
export interface ParserError extends Error {
  readonly code?: string;
  readonly rawPacket?: Uint8Array;
  readonly bytesParsed?: number;
}

/** Returns the refusal for an error of the parser; undefined for other errors, such as a reset. */
export function refusalFor(error: ParserError): ContractException | undefined {
  switch (error.code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ContractException(408);
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new ContractException(413, 'The chunk extensions of the body are too large: send none.');
    case 'HPE_HEADER_OVERFLOW':
      return new ContractException(isInRequestLine(error) ? 414 : 431);
    case 'HPE_INVALID_EOF_STATE':
      return new ContractException(400, 'The request ended before it was complete.');
    default:
      return error.code?.startsWith('HPE_') === true ? new ContractException(400) : undefined;
  }
}

/**
 * Tells a long URL from a long header, which have the same error: the parser has stopped in a line that has a method and a
 * space before the URL, or a name and a colon before the header (RFC 9112 §5). A line that began in an earlier packet does
 * not tell it.
 */
function isInRequestLine({ rawPacket = Buffer.of(), bytesParsed = 0 }: ParserError): boolean {
  const parsed = Buffer.from(rawPacket).toString('latin1', 0, bytesParsed);
  const line = parsed.slice(parsed.lastIndexOf('\n', parsed.length - 2) + 1);
  // The line of a method may begin with the body of the request before.
  return /[A-Z] \S*$/.test(line) && !/^[\w-]+:/.test(line);
}
