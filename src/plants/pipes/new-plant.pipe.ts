import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { createParamDecorator, type ExecutionContext, Injectable, type PipeTransform } from '@nestjs/common';
import { nodeRequest } from '../../node-request.js';
import { ContractException } from '../../contract/contract.exception.js';
import { Admission } from '../admission.js';
import type { NewPlantDto } from '../dto/plant.dto.js';
import { type HostRequest, isParsed, ParsedBodies } from '../host/parsed-body.js';
import { sentHeaders } from '../host/unparsed-body.js';
import { parseNewPlant } from '../parse-new-plant.js';
import { bodyTooLarge, readBody } from './read-body.js';

/** Node's response, or that of Fastify, which wraps it. */
type HostResponse = ServerResponse | { readonly raw: ServerResponse };

/**
 * Returns the context of the request: a pipe gets only a value, but this one needs the request and its response. It is a
 * function, because a host's own global pipe runs first, and may copy objects, such as one that trims texts.
 */
type LazyContext = () => ExecutionContext;

const CurrentContext = createParamDecorator((_data: unknown, context: ExecutionContext): LazyContext => {
  return () => context;
});

/** Like `@Body`, but {@link NewPlantPipe} reads the body itself: after the guard, and with the exact id. */
export const PlantFromBody = (): ParameterDecorator => CurrentContext(NewPlantPipe);

/** Admits a request, reads its body, and turns it into a valid NewPlant. */
@Injectable()
export class NewPlantPipe implements PipeTransform<LazyContext, Promise<NewPlantDto>> {
  readonly #parsedBodies = new ParsedBodies();

  constructor(private readonly admission: Admission) {}

  /** @throws {ContractException} like `assertHeaders`, 413, 503, like `readBody`, like `parseNewPlant`, in this order */
  async transform(getContext: LazyContext): Promise<NewPlantDto> {
    const http = getContext().switchToHttp();
    const hostRequest = http.getRequest<HostRequest>();
    const request = nodeRequest(hostRequest);
    const response = nodeResponse(http.getResponse<HostResponse>());
    const sent = sentHeaders(request);
    assertHeaders(request, sent);
    if (isParsed(hostRequest, request)) {
      this.admission.admitRequest(response);
      return this.#parsedBodies.plantOf(hostRequest, request);
    }
    const { bodyLimit } = this.admission;
    const length = contentLength(sent);
    if (length !== undefined && length > bodyLimit) throw bodyTooLarge(bodyLimit);
    const chargeBody = this.admission.admitRequest(response);
    return parseNewPlant(await readBody(request, length ?? bodyLimit, chargeBody));
  }
}

function nodeResponse(response: HostResponse): ServerResponse {
  return 'raw' in response ? response.raw : response;
}

function contentLength({ 'content-length': length }: IncomingHttpHeaders): number | undefined {
  return length === undefined ? undefined : Number(length);
}

/**
 * Checks the headers of a request that creates a plant.
 *
 * @param sent the headers as the client sent them
 * @throws {ContractException} 417, 400 without a body, or 415, in this order
 */
function assertHeaders(request: IncomingMessage, sent: IncomingHttpHeaders): void {
  assertExpectation(request);
  if (!hasBody(request, sent)) {
    throw new ContractException(400, 'There is no body: send a NewPlant as JSON.');
  }
  assertJson(sent);
}

/** Refuses an expectation that is unknown (RFC 9110 §10.1.1). HTTP/1.0 has none. */
function assertExpectation({ headers: { expect }, httpVersion }: IncomingMessage): void {
  if (expect !== undefined && expect.toLowerCase() !== '100-continue' && httpVersion !== '1.0') {
    throw new ContractException(417);
  }
}

function hasBody({ httpVersionMajor }: IncomingMessage, sent: IncomingHttpHeaders): boolean {
  const length = contentLength(sent);
  if (length !== undefined) return length > 0;
  // HTTP/2 frames a body of unknown length without any header (RFC 9113 §8.1).
  return httpVersionMajor > 1 || sent['transfer-encoding'] !== undefined;
}

function assertJson(sent: IncomingHttpHeaders): void {
  const { 'content-encoding': encoding = 'identity', 'content-type': type = '' } = sent;
  // A content coding other than `identity` changes the media type (RFC 9110 §8.4).
  const isEncoded = encoding.toLowerCase() !== 'identity';
  if (isEncoded || !/^application\/json[ \t]*(?:;|$)/i.test(type)) throw new ContractException(415);
}
