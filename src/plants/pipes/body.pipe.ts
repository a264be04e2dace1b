import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { createParamDecorator, type ExecutionContext, Injectable, type PipeTransform } from '@nestjs/common';
import { BodyTooLargeException, ContractException } from '../../contract/contract.exception.js';
import { Admission, type Place } from '../admission.js';
import { type HostRequest, isParsed, ParsedBodies } from '../host/parsed-body.js';
import { sentHeaders } from '../host/unparsed-body.js';
import { collectBody, takeBody } from './read-body.js';

/** The response to a HostRequest. */
type HostResponse = ServerResponse | { readonly raw: ServerResponse };

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
  /** For hosts: the service has no parser. */
  readonly #parsedBodies = new ParsedBodies();

  constructor(private readonly admission: Admission) {}

  /** @throws {ContractException} 417, 400 without a body, 415, 413 or 503, in this order of checks */
  transform(sealed: SealedExchange): AdmittedBody | Promise<AdmittedBody> {
    const exchange = sealed();
    const request = exchange.getRequest<HostRequest>();
    const response = exchange.getResponse<HostResponse>();
    const raw = 'raw' in request ? request.raw : request;
    const client = 'raw' in response ? response.raw : response;
    const headers = sentHeaders(raw);
    const length = contentLength(headers);
    assertExpectation(raw);
    if (!hasBody(raw, headers)) throw new ContractException(400, 'There is no body: send a NewPlant as JSON.');
    assertJson(headers);
    if (isParsed(request, raw)) {
      const place = this.admission.admit(client);
      return { body: this.#parsedBodies.take(request, raw), place };
    }
    const { bodyLimit } = this.admission;
    if (length !== undefined && length > bodyLimit) throw new BodyTooLargeException(bodyLimit);
    const place = this.admission.admit(client);
    const charge = (bytes: number): boolean => this.admission.chargeBody(place, bytes);
    // Most bodies have arrived. Awaiting these like the others would slow down each create.
    const body = takeBody(raw, length, charge);
    if (body !== undefined) return { body, place };
    return collectBody(raw, length ?? bodyLimit, charge).then((collected) => ({ body: collected, place }));
  }
}

/** Refuses an expectation that is unknown (RFC 9110 §10.1.1). HTTP/1.0 has none. */
function assertExpectation({ headers: { expect }, httpVersion }: IncomingMessage): void {
  if (expect !== undefined && expect.toLowerCase() !== '100-continue' && httpVersion !== '1.0') {
    throw new ContractException(417);
  }
}

function contentLength({ 'content-length': length }: IncomingHttpHeaders): number | undefined {
  return length === undefined ? undefined : Number(length);
}

function hasBody({ httpVersionMajor }: IncomingMessage, headers: IncomingHttpHeaders): boolean {
  const length = contentLength(headers);
  if (length !== undefined) return length > 0;
  // HTTP/2 frames a body of unknown length without any header (RFC 9113 §8.1).
  return httpVersionMajor > 1 || headers['transfer-encoding'] !== undefined;
}

function assertJson(headers: IncomingHttpHeaders): void {
  const { 'content-encoding': encoding = 'identity', 'content-type': type = '' } = headers;
  // A content coding other than `identity` changes the media type (RFC 9110 §8.4).
  const isEncoded = encoding.toLowerCase() !== 'identity';
  if (isEncoded || !/^application\/json[ \t]*(?:;|$)/i.test(type)) throw new ContractException(415);
}
