import { METHODS } from 'node:http';
import { All, Controller, Req } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import { ContractException } from '../contract/contract.exception.js';

/** Every route that there is not: Nest answers these before its guards, so that a stranger could map the paths. */
@Controller()
export class NotFoundController {
  constructor(private readonly adapterHost: HttpAdapterHost<FastifyAdapter>) {}

  @All('*')
  refuse(@Req() { url }: { readonly url: string }): never {
    const fastify = this.adapterHost.httpAdapter.getInstance();
    // Where would this URL lead with another method? Not to be asked with hasRoute, which takes it for a pattern.
    const allowed = METHODS.filter((method) => !('*' in fastify.findRoute({ method, url }).params));
    if (allowed.length === 0) throw new ContractException(404);
    throw new ContractException(405, undefined, { Allow: allowed.join(', ') });
  }
}
