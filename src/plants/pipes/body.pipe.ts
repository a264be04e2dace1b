import type { IncomingMessage, ServerResponse } from 'node:http';
import { createParamDecorator, type ExecutionContext, Injectable, Logger, type PipeTransform } from '@nestjs/common';
import { BodyTooLargeException, ContractException } from '../../contract/contract.exception.js';
import { Admission, type Place } from '../admission.js';
import { isBodyHidden, sentHeader } from '../unparsed-body.js';
import { collectBody, takeBody } from './read-body.js';

/** A request of Express, which is Node's own, or of Fastify, which wraps Node's. */
type PlantRequest = (IncomingMessage | { readonly raw: IncomingMessage }) & {
  /** The result of the application's body parser. */
  readonly body?: unknown;
  /** The bytes of the body, if the application sets Nest's option `rawBody`. */
  readonly rawBody?: Uint8Array;
  /** The route of Express, with its whole path. */
  readonly route?: { readonly path: string };
  /** The route of Fastify, with its whole path. */
  readonly routeOptions?: { readonly url?: string };
};

/** A response of Express, which is Node's own, or of Fastify, which wraps Node's. */
type PlantResponse = ServerResponse | { readonly raw: ServerResponse };

/**
 * Returns the request and its response. A function, because the global pipes of a host run first: they may rebuild objects,
 * but they pass a function on as it is.
 */
type SealedExchange = () => ReturnType<ExecutionContext['switchToHttp']>;

/** Passes the request to the parameter's pipes, which read its body. */
export const PlantBody = createParamDecorator((_data: unknown, context: ExecutionContext): SealedExchange => {
  return () => context.switchToHttp();
});

/** The body of a request, and the request's place in the account of Admission. */
export interface AdmittedBody {
  /** Bytes where possible, otherwise the result of the application's parser. */
  readonly body: unknown;
  readonly place: Place;
}

/** Admits a request, and turns it into its body. */
@Injectable()
export class BodyPipe implements PipeTransform<SealedExchange, AdmittedBody | Promise<AdmittedBody>> {
  readonly #logger = new Logger('PlantStore');
  #hasWarned = false;

  constructor(private readonly admission: Admission) {}

  /** @throws {ContractException} 417, 400 without a body, 415, 413 or 503, in this order of checks */
  transform(sealed: SealedExchange): AdmittedBody | Promise<AdmittedBody> {
    const exchange = sealed();
    const request = exchange.getRequest<PlantRequest>();
    const response = exchange.getResponse<PlantResponse>();
    const raw = 'raw' in request ? request.raw : request;
    const { bodyLimit } = this.admission;
    const length = contentLength(raw);
    assertExpectation(raw);
    if (!hasBody(raw, length)) throw new ContractException(400, 'There is no body: send a NewPlant as JSON.');
    assertJson(raw);
    const isParsed = request.body !== undefined || raw.readableDidRead;
    if (!isParsed && length !== undefined && length > bodyLimit) throw new BodyTooLargeException(bodyLimit);
    const place = this.admission.admit('raw' in response ? response.raw : response);
    if (isParsed) return { body: this.#takeParsed(request, raw), place };
    const charge = (bytes: number): boolean => this.admission.chargeBody(place, bytes);
    // Most bodies have arrived. To await these like the others gave 4 to 6 % fewer creates a second.
    const body = takeBody(raw, length, charge);
    if (body !== undefined) return { body, place };
    return collectBody(raw, length ?? bodyLimit, charge).then((collected) => ({ body: collected, place }));
  }

  /**
   * Takes what the application's parser has left: the bytes, or its result. With the first result, logs how the parsers of
   * the application are kept away from the body.
   */
  #takeParsed({ body, rawBody, route, routeOptions }: PlantRequest, raw: IncomingMessage): unknown {
    if (rawBody === undefined && !this.#hasWarned) {
      const line = `app.use('${route?.path ?? routeOptions?.url}', unparsedBody())`;
      // Where it has hidden the body, it ran after a parser.
      const advice = isBodyHidden(raw) ? `move ${line} up` : `add ${line} to main.ts`;
      this.#logger.warn(
        `The application has parsed a plant, so ids beyond 9007199254740991 are refused: ${advice}, before all body parsers`,
      );
      this.#hasWarned = true;
    }
    return rawBody ?? body;
  }
}

/** Refuses an expectation that is unknown (RFC 9110 §10.1.1). HTTP/1.0 has none. */
function assertExpectation({ headers: { expect }, httpVersion }: IncomingMessage): void {
  if (expect !== undefined && expect.toLowerCase() !== '100-continue' && httpVersion !== '1.0') {
    throw new ContractException(417);
  }
}

function hasBody(request: IncomingMessage, length: number | undefined): boolean {
  if (length !== undefined) return length > 0;
  // HTTP/2 frames a body of unknown length without any header (RFC 9113 §8.1).
  return request.httpVersionMajor > 1 || sentHeader(request, 'transfer-encoding') !== undefined;
}

function assertJson(request: IncomingMessage): void {
  const { 'content-encoding': encoding = 'identity' } = request.headers;
  // A content coding other than `identity` changes the media type (RFC 9110 §8.4).
  const isEncoded = encoding.toLowerCase() !== 'identity';
  if (isEncoded || !/^application\/json[ \t]*(?:;|$)/i.test(sentHeader(request, 'content-type') ?? '')) {
    throw new ContractException(415);
  }
}

function contentLength(request: IncomingMessage): number | undefined {
  const length = sentHeader(request, 'content-length');
  return length === undefined ? undefined : Number(length);
}
