import { ContractException } from '../contract/contract.exception.js';

/** An error of Node's HTTP parser: the packet that it is in, and how many bytes of it were parsed. */
export interface ParserError extends Error {
  readonly code?: string;
  readonly rawPacket?: Uint8Array;
  readonly bytesParsed?: number;
}

/** RFC 9112 §5: a field line begins with a name and a colon; a long name may have no colon yet. */
const FIELD_LINE = /^[\w!#$%&'*+.^`|~-]+(?::|$)/;

/**
 * Returns the refusal for an error of the parser.
 *
 * @param isInRequestLine true if the URL is too large, false if a header is
 */
export function exceptionFor({ code }: ParserError, isInRequestLine: boolean): ContractException {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ContractException(408);
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new ContractException(413, 'The chunk extensions of the body are too large: send none.');
    case 'HPE_HEADER_OVERFLOW':
      return new ContractException(isInRequestLine ? 414 : 431);
    case 'HPE_INVALID_EOF_STATE':
      return new ContractException(400, 'The request ended before it was complete.');
    default:
      return new ContractException(400);
  }
}

/**
 * Tells a long URL from a long header: the parser has one error for both.
 *
 * @param lineBeginning the beginning of the line that the packet continues
 */
export function isInRequestLine(error: ParserError, lineBeginning: string): boolean {
  const parsed = Buffer.from(error.rawPacket ?? []).toString('latin1', 0, error.bytesParsed);
  const start = parsed.lastIndexOf('\n', parsed.length - 2) + 1;
  return !FIELD_LINE.test(start > 0 ? parsed.slice(start) : lineBeginning + parsed);
}
