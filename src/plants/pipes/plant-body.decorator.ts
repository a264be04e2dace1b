import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { type Exchange, exchangeOf, type HostRequest, type HostResponse } from '../host/host-request.js';

/**
 * Returns the exchange. A function, because the global pipes of a host run first: they may rebuild objects, but they pass a
 * function on as it is.
 */
export type SealedExchange = () => Exchange;

/** Passes the exchange to the parameter's pipe, which reads the body. */
export const PlantBody = createParamDecorator((_data: unknown, context: ExecutionContext): SealedExchange => {
  const http = context.switchToHttp();
  return () => exchangeOf(http.getRequest<HostRequest>(), http.getResponse<HostResponse>());
});
