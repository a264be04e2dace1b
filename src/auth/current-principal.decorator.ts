import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { principalOf } from './principal.js';

/** Passes the principal of the request; undefined if the host authenticates. */
export const CurrentPrincipal = createParamDecorator((_data: unknown, context: ExecutionContext) => {
  return principalOf(context.switchToHttp().getRequest<object>());
});
