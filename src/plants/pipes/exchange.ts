import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { nodeRequest } from '../../node-request.js';
import type { HostRequest } from '../host/parsed-body.js';
import { sentHeaders } from '../host/unparsed-body.js';

/** The response to a HostRequest. */
type HostResponse = ServerResponse | { readonly raw: ServerResponse };

/** A request and its response, alike in the service and in each host. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** As the client has sent them: the middleware of `unparsedBody` deletes some. */
  readonly headers: IncomingHttpHeaders;
  /** The request of the host if a parser of the host has read the body. The service has no parser. */
  readonly parsedRequest: HostRequest | undefined;
}

/**
 * Returns the exchange. A function, because the global pipes of a host run first: they may rebuild objects, but they pass a
 * function on as it is.
 */
export type LazyExchange = () => Exchange;

/** Passes the exchange of the request to the pipe of the parameter. */
export const CurrentExchange = createParamDecorator((_data: unknown, context: ExecutionContext): LazyExchange => {
  const http = context.switchToHttp();
  return () => exchangeOf(http.getRequest<HostRequest>(), http.getResponse<HostResponse>());
});

function exchangeOf(hostRequest: HostRequest, hostResponse: HostResponse): Exchange {
  const request = nodeRequest(hostRequest);
  const isParsed = hostRequest.body !== undefined || request.readableDidRead;
  return {
    request,
    response: 'raw' in hostResponse ? hostResponse.raw : hostResponse,
    headers: sentHeaders(request),
    parsedRequest: isParsed ? hostRequest : undefined,
  };
}
