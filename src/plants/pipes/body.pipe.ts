import type { IncomingMessage } from 'node:http';
import { Injectable, Logger, type PipeTransform } from '@nestjs/common';
import { BodyTooLargeException, ContractException } from '../../contract/contract.exception.js';
import { Admission } from '../admission.js';
import type { PlantExchange, PlantRequest } from '../plant-body.decorator.js';
import { readBody } from './read-body.js';

/** Turns a request into its body: bytes where possible, otherwise the result of the application's parser. */
@Injectable()
export class BodyPipe implements PipeTransform<() => PlantExchange, unknown> {
  readonly #logger = new Logger('PlantStore');
  #hasWarned = false;

  constructor(private readonly admission: Admission) {}

  /** @throws {ContractException} 417, 400 without a body, 415, 413 or 503, in this order of checks */
  async transform(getExchange: () => PlantExchange): Promise<unknown> {
    const { request, response } = getExchange();
    const raw = 'raw' in request ? request.raw : request;
    assertExpectation(raw);
    assertBody(raw);
    assertJson(raw);
    const length = contentLength(raw);
    const isParsed = request.body !== undefined || raw.readableDidRead;
    if (!isParsed) assertLength(length, this.admission.bodyLimit);
    const admitted = this.admission.admit(response);
    if (isParsed) return request.rawBody ?? this.#takeParsed(request);
    return readBody(raw, length, this.admission.bodyLimit, (bytes) => this.admission.charge(admitted, bytes));
  }

  /** Logs once which line keeps the parser of the application away from the body. */
  #takeParsed({ body, route, routeOptions }: PlantRequest): unknown {
    const path = route?.path ?? routeOptions?.url;
    if (!this.#hasWarned) {
      this.#logger.warn(
        `Exact ids need app.use('${path}', unparsedBody()) in main.ts: the application has parsed a body first`,
      );
    }
    this.#hasWarned = true;
    return body;
  }
}

/** RFC 9110 §10.1.1; HTTP/1.0 has no expectations. */
function assertExpectation({ headers: { expect }, httpVersion }: IncomingMessage): void {
  if (expect !== undefined && expect.toLowerCase() !== '100-continue' && httpVersion !== '1.0') {
    throw new ContractException(417);
  }
}

function assertBody(request: IncomingMessage): void {
  // HTTP/2 frames a body of unknown length without any header (RFC 9113 §8.1).
  const isEmpty =
    contentLength(request) === 0 || (contentLength(request) === undefined && request.httpVersionMajor < 2);
  if (isEmpty && header(request, 'transfer-encoding') === undefined) {
    throw new ContractException(400, 'There is no body: send a NewPlant as JSON.');
  }
}

function assertJson(request: IncomingMessage): void {
  const encoding = request.headers['content-encoding'];
  // A content coding other than `identity` changes the media type (RFC 9110 §8.4).
  const isEncoded = encoding !== undefined && encoding.toLowerCase() !== 'identity';
  if (isEncoded || !/^application\/json[ \t]*(?:;|$)/i.test(header(request, 'content-type') ?? '')) {
    throw new ContractException(415);
  }
}

function assertLength(length: number | undefined, limit: number): void {
  if (length !== undefined && length > limit) throw new BodyTooLargeException(limit);
}

function contentLength(request: IncomingMessage): number | undefined {
  const length = header(request, 'content-length');
  return length === undefined ? undefined : Number(length);
}

/** Reads a header that `unparsedBody()` may have deleted from `headers`; `rawHeaders` still has it. */
function header(
  { headers, rawHeaders }: IncomingMessage,
  name: 'content-length' | 'content-type' | 'transfer-encoding',
): string | undefined {
  if (headers[name] !== undefined) return headers[name];
  const index = rawHeaders.findIndex((text, position) => position % 2 === 0 && text.toLowerCase() === name);
  return index < 0 ? undefined : rawHeaders[index + 1];
}
