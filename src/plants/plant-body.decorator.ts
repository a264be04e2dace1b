import type { IncomingMessage, ServerResponse } from 'node:http';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';

/** A request of Express, which is Node's own, or of Fastify, which wraps Node's. */
export type PlantRequest = (IncomingMessage | { readonly raw: IncomingMessage }) & {
  /** The result of the application's body parser. */
  readonly body?: unknown;
  /** The bytes of the body, if the application sets Nest's option `rawBody`. */
  readonly rawBody?: Uint8Array;
};

/** A request and Node's response to it. */
export interface PlantExchange {
  readonly request: PlantRequest;
  readonly response: ServerResponse;
}

/**
 * Passes the request to the parameter's pipes, which read its body. The request is wrapped in a function because the
 * global pipes of a host run first: they may rebuild objects, but they pass a function on as it is.
 */
export const PlantBody = createParamDecorator((_data: unknown, context: ExecutionContext) => (): PlantExchange => {
  const http = context.switchToHttp();
  const response = http.getResponse<ServerResponse | { readonly raw: ServerResponse }>();
  return { request: http.getRequest<PlantRequest>(), response: 'raw' in response ? response.raw : response };
});
