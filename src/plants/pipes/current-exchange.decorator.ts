import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { exchangeOf, type HostRequest, type HostResponse, type LazyExchange } from '../host/exchange.js';

/** Passes the exchange to the parameter's pipe, which reads the body. */
export const PlantBody = createParamDecorator((_data: unknown, context: ExecutionContext): LazyExchange => {
  const http = context.switchToHttp();
  return () => exchangeOf(http.getRequest<HostRequest>(), http.getResponse<HostResponse>());
});
