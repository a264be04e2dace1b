import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { exchangeOf, type HostRequest, type HostResponse, type LazyExchange } from '../host/exchange.js';

/** Passes the exchange of the request to the pipe of the parameter. */
export const CurrentExchange = createParamDecorator((_data: unknown, context: ExecutionContext): LazyExchange => {
  const http = context.switchToHttp();
  return () => exchangeOf(http.getRequest<HostRequest>(), http.getResponse<HostResponse>());
});
