import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { nodeRequest } from '../../auth/node-request.js';
import { sentHeaders } from './unparsed-body.js';

/** A request of Express, which is Node's own, or of Fastify, which wraps Node's. */
export type HostRequest = (IncomingMessage | { readonly raw: IncomingMessage }) & {
  /** The result of the application's body parser. */
  readonly body?: unknown;
  /** The bytes of the body, if the application sets Nest's option `rawBody`. */
  readonly rawBody?: Uint8Array;
  /** The route of Express, with its whole path. */
  readonly route?: { readonly path: string };
  /** The route of Fastify, with its whole path. */
  readonly routeOptions?: { readonly url?: string };
};

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
