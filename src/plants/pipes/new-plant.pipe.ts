import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Injectable, type PipeTransform } from '@nestjs/common';
import { ContractException } from '../../contract/contract.exception.js';
import { Admission } from '../admission.js';
import type { NewPlantDto } from '../dto/plant.dto.js';
import { CurrentExchange, type Exchange, type LazyExchange } from '../host/exchange.js';
import { ParsedBodies } from '../host/parsed-body.js';
import { parseNewPlant } from '../parse-new-plant.js';
import { bodyTooLarge, collectBody, takeBody } from './read-body.js';

/** Admits a request, reads its body, and turns it into a valid NewPlant. */
@Injectable()
export class NewPlantPipe implements PipeTransform<LazyExchange, Promise<NewPlantDto>> {
  readonly #parsedBodies = new ParsedBodies();

  constructor(private readonly admission: Admission) {}

  /** @throws {ContractException} as `assertHeaders`, 503, and as `collectBody` and `parseNewPlant`, in this order */
  async transform(getExchange: LazyExchange): Promise<NewPlantDto> {
    const exchange = getExchange();
    const { request, response, headers, parsedRequest } = exchange;
    const { bodyLimit } = this.admission;
    const length = contentLength(headers);
    assertHeaders(exchange, length, bodyLimit);
    const admitted = this.admission.admitRequest(response);
    if (parsedRequest !== undefined) return this.#parsedBodies.plantOf(parsedRequest, request);
    const charge = (bytes: number): boolean => this.admission.chargeBody(admitted, bytes);
    // Most bodies have arrived.
    const body = takeBody(request, length, charge) ?? (await collectBody(request, length, bodyLimit, charge));
    return parseNewPlant(body);
  }
}

/** Passes the plant of the request, see {@link NewPlantPipe}. */
export const PlantFromRequest = (): ParameterDecorator => CurrentExchange(NewPlantPipe);

/**
 * Checks the headers of a request that creates a plant. The limit does not apply to a body that a parser of the host has
 * read.
 *
 * @param length the value of Content-Length; undefined without this header
 * @throws {ContractException} 417, 400 without a body, 415 or 413, in this order
 */
function assertHeaders(exchange: Exchange, length: number | undefined, bodyLimit: number): void {
  const { request, headers, parsedRequest } = exchange;
  assertExpectation(request);
  if (!hasBody(exchange, length)) throw new ContractException(400, 'There is no body: send a NewPlant as JSON.');
  assertJson(headers);
  if (parsedRequest === undefined && length !== undefined && length > bodyLimit) throw bodyTooLarge(bodyLimit);
}

function contentLength({ 'content-length': length }: IncomingHttpHeaders): number | undefined {
  return length === undefined ? undefined : Number(length);
}

/** Refuses an expectation that is unknown (RFC 9110 §10.1.1). HTTP/1.0 has none. */
function assertExpectation({ headers: { expect }, httpVersion }: IncomingMessage): void {
  if (expect !== undefined && expect.toLowerCase() !== '100-continue' && httpVersion !== '1.0') {
    throw new ContractException(417);
  }
}

function hasBody({ request, headers }: Exchange, length: number | undefined): boolean {
  if (length !== undefined) return length > 0;
  // HTTP/2 frames a body of unknown length without any header (RFC 9113 §8.1).
  return request.httpVersionMajor > 1 || headers['transfer-encoding'] !== undefined;
}

function assertJson(headers: IncomingHttpHeaders): void {
  const { 'content-encoding': encoding = 'identity', 'content-type': type = '' } = headers;
  // A content coding other than `identity` changes the media type (RFC 9110 §8.4).
  const isEncoded = encoding.toLowerCase() !== 'identity';
  if (isEncoded || !/^application\/json[ \t]*(?:;|$)/i.test(type)) throw new ContractException(415);
}
