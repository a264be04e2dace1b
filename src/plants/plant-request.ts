import type { IncomingMessage } from 'node:http';
import { ContractException } from '../errors/contract.exception.js';
import { DEFAULT_BODY_LIMIT } from './body-limit.js';

/** A request as Express has it, or as Fastify does, around Node's own. */
export type PlantRequest = (IncomingMessage | { readonly raw: IncomingMessage }) & {
  /** What Fastify calls it. */
  readonly id?: unknown;
  /** What the application's parser made of the body, or what promises it. */
  readonly body?: unknown;
  /** The bytes of the body, with Nest's option of that name. */
  readonly rawBody?: Uint8Array;
};

/** What was hidden from the parsers of the application. */
const unparsed = new WeakMap<IncomingMessage, { readonly headers: object; readonly limit: number }>();

/**
 * Middleware that leaves the body of `POST /plants` to us: it is read after the token was checked, ids are exact, and
 * what is not JSON is refused in the contract's words. Give it to the application before it starts, with the whole path:
 * `app.use('/api/plants', unparsedBody())`. Requests to other paths, also below that one, pass as they are.
 *
 * @param limit the greatest length of a body, in bytes
 */
export function unparsedBody(limit = DEFAULT_BODY_LIMIT) {
  return (request: IncomingMessage, _response: unknown, next: () => void): void => {
    // Both frameworks have cut off the path that they were given.
    if (request.method === 'POST' && /^\/?(?:\?|$)/.test(request.url ?? '')) {
      const { headers } = request;
      unparsed.set(request, { headers: { ...headers }, limit });
      // Parsers pass by what has no body (RFC 9112 §6.3).
      delete headers['content-type'];
      delete headers['content-length'];
      delete headers['transfer-encoding'];
    }
    next();
  };
}

/**
 * The body of a request, to be awaited: bytes or text wherever they can be had, and else what the application's parser
 * made of them.
 *
 * @throws {ContractException} in the order of checks: 417, 400 where there is no body, 415, 413
 */
export function bodyOf(request: PlantRequest): unknown {
  const raw = 'raw' in request ? request.raw : request;
  const own = unparsed.get(raw);
  Object.assign(raw.headers, own?.headers);
  assertReadable(raw);
  // Without a parser nobody has touched the body.
  if (own ?? (request.body === undefined && !raw.readableDidRead)) return read(raw, own?.limit ?? DEFAULT_BODY_LIMIT);
  return request.rawBody ?? request.body;
}

/** @throws {ContractException} where the headers alone say that the body is not to be read */
function assertReadable({ headers, httpVersion, httpVersionMajor }: IncomingMessage): void {
  // HTTP/1.0 knows no expectations (RFC 9110 §10.1.1).
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue' && httpVersion !== '1.0') {
    throw new ContractException(417);
  }
  // HTTP/2 need not say beforehand that there is a body (RFC 9113 §8.1).
  const length = headers['content-length'] ?? (httpVersionMajor > 1 ? undefined : '0');
  if (Number(length) === 0 && headers['transfer-encoding'] === undefined) {
    throw new ContractException(400, 'There is no body: send a NewPlant as JSON.');
  }
  if (
    !/^application\/json[ \t]*(?:;|$)/i.test(headers['content-type'] ?? '') ||
    isEncoded(headers['content-encoding'])
  ) {
    throw new ContractException(415);
  }
}

/** A content coding (RFC 9110 §8.4) makes another media type of the body; `identity` is none. */
function isEncoded(coding: string | undefined): boolean {
  return coding !== undefined && coding.toLowerCase() !== 'identity';
}

async function read(request: IncomingMessage, limit: number): Promise<Uint8Array> {
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>) {
      length += chunk.length;
      if (length > limit) break;
      chunks.push(chunk);
    }
  } catch {
    throw gone();
  }
  if (length <= limit) return Buffer.concat(chunks);
  // The rest is read on, so that the client is there to read the answer.
  request.resume();
  throw tooLarge(limit);
}

/** The refusal of a body that is longer than this many bytes. */
export function tooLarge(limit: number): ContractException {
  return new ContractException(413, `The body is too large: at most ${limit} bytes are taken.`);
}

/** The refusal of a body whose end will not come. */
export function gone(): ContractException {
  return new ContractException(400, 'The connection was closed before the body was complete.');
}
