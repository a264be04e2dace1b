import { METHODS } from 'node:http';
import { All, Controller, Req } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import { ApiExcludeController } from '@nestjs/swagger';
import { ContractException } from '../errors/contract.exception.js';

/** Every route that there is not: Nest answers these before its guards, so that a stranger could map the paths. */
@Controller()
@ApiExcludeController()
export class UnroutedController {
  constructor(private readonly adapterHost: HttpAdapterHost<FastifyAdapter>) {}

  @All('*')
  refuse(@Req() request: { readonly params: { readonly '*': string } }): never {
    const url = `/${request.params['*']}`;
    const fastify = this.adapterHost.httpAdapter.getInstance();
    const allowed = METHODS.filter((method) => fastify.hasRoute({ method, url }));
    if (allowed.length === 0) throw new ContractException(404);
    throw new ContractException(405, undefined, { Allow: allowed.join(', ') });
  }
}
