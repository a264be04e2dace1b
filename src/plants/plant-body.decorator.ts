import type { IncomingMessage } from 'node:http';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';

/** A request of Express, which is Node's own, or of Fastify, which wraps Node's. */
export type PlantRequest = (IncomingMessage | { readonly raw: IncomingMessage }) & {
  /** The result of the application's body parser. */
  readonly body?: unknown;
  /** The bytes of the body, if the application sets Nest's option `rawBody`. */
  readonly rawBody?: Uint8Array;
  /** The route of Express, with its whole path. */
  readonly route?: { readonly path: string };
  /** The route of Fastify, with its whole path. */
  readonly routeOptions?: { readonly url?: string };
};

/**
 * Passes the request to the parameter's pipes, which read its body. The request is wrapped in a function because the
 * global pipes of a host run first: they may rebuild objects, but they pass a function on as it is.
 */
export const PlantBody = createParamDecorator((_data: unknown, context: ExecutionContext) => (): PlantRequest => {
  return context.switchToHttp().getRequest<PlantRequest>();
});
