import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Injectable, type PipeTransform } from '@nestjs/common';
import { ContractException } from '../../contract/contract.exception.js';
import { Admission, type Place } from '../admission.js';
import type { SealedExchange } from './exchange.js';
import { ParsedBodies } from '../host/parsed-body.js';
import { BodyTooLargeException, collectBody, takeBody } from './read-body.js';

/** The body of a request, and the request's place in the account of Admission. */
export interface AdmittedBody {
  /** Bytes where possible, otherwise the result of a host's parser. */
  readonly body: unknown;
  readonly place: Place;
}

/** Admits a request, and turns it into its body. */
@Injectable()
export class BodyPipe implements PipeTransform<SealedExchange, AdmittedBody | Promise<AdmittedBody>> {
  readonly #parsedBodies = new ParsedBodies();

  constructor(private readonly admission: Admission) {}

  /** @throws {ContractException} 417, 400 without a body, 415, 413 or 503, in this order of checks */
  transform(sealed: SealedExchange): AdmittedBody | Promise<AdmittedBody> {
    const { request, response, headers, parsed } = sealed();
    const { bodyLimit } = this.admission;
    const length = contentLength(headers);
    assertExpectation(request);
    if (!hasBody(request, headers)) throw new ContractException(400, 'There is no body: send a NewPlant as JSON.');
    assertJson(headers);
    if (parsed !== undefined) {
      const place = this.admission.admit(response);
      return { body: this.#parsedBodies.take(parsed, request), place };
    }
    if (length !== undefined && length > bodyLimit) throw new BodyTooLargeException(bodyLimit);
    const place = this.admission.admit(response);
    const charge = (bytes: number): boolean => this.admission.chargeBody(place, bytes);
    // Most bodies have arrived. Awaiting these like the others would slow down each create.
    const body = takeBody(request, length, charge);
    if (body !== undefined) return { body, place };
    return collectBody(request, length ?? bodyLimit, charge).then((collected) => ({ body: collected, place }));
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
