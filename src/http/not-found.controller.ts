import { All, Controller, Req } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import { ContractException } from '../contract/contract.exception.js';

/** The path of the operation, with that of {base_url}; the class is also the injection token. */
export abstract class OperationPath {
  abstract readonly path: string;
}

/**
 * Matches every path and method without a route, which Nest would answer before its guards: only holders of a token learn
 * which paths exist.
 */
@Controller()
export class NotFoundController {
  constructor(
    private readonly adapterHost: HttpAdapterHost<FastifyAdapter>,
    private readonly plants: OperationPath,
  ) {}

  @All('*')
  refuse(@Req() { url }: { readonly url: string }): never {
    const { params } = this.adapterHost.httpAdapter.getInstance().findRoute({ method: 'POST', url });
    // Only the route of this controller has a wildcard. If a POST has another route, the path exists, but not the method.
    if ('*' in params) throw new ContractException(404, `There is no such path: use POST ${this.plants.path}.`);
    throw new ContractException(405);
  }
}
