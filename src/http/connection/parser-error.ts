import { ContractException } from '../../contract/contract.exception.js';

/** An error of Node's HTTP parser, with the packet that caused it, and how many bytes of the packet were parsed. */
export interface ParserError extends Error {
  readonly code?: string;
  readonly rawPacket?: Uint8Array;
  readonly bytesParsed?: number;
}

/** Returns the refusal for an error of the parser; undefined for other errors, such as a reset. */
export function refusalFor(error: ParserError): ContractException | undefined {
  switch (error.code) {
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
 * Returns whether the parser has stopped in the URL, as in `POST /aaa`, and not in a header, as in `Name: aaa` (RFC 9112
 * §5): both have the same error. If the line began in an earlier packet, the result may be wrong.
 */
function isInRequestLine({ rawPacket = Buffer.of(), bytesParsed = 0 }: ParserError): boolean {
  const parsed = Buffer.from(rawPacket).toString('latin1', 0, bytesParsed);
  const line = parsed.slice(parsed.lastIndexOf('\n', parsed.length - 2) + 1);
  // The body of the previous request may precede the method, as in `{}POST /aaa`. `Name: X aaa` is a header.
  return /[A-Z] \S*$/.test(line) && !/^[\w-]+:/.test(line);
}
