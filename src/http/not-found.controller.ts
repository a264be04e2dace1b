import { METHODS } from 'node:http';
import { All, Controller, Req } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import { ContractException } from '../contract/contract.exception.js';

/** Answers requests without a route. Nest would answer them before its guards, and let strangers map the paths. */
@Controller()
export class NotFoundController {
  constructor(private readonly adapterHost: HttpAdapterHost<FastifyAdapter>) {}

  @All('*')
  refuse(@Req() { url }: { readonly url: string }): never {
    const fastify = this.adapterHost.httpAdapter.getInstance();
    // Methods with a route for this URL. Fastify's hasRoute would take the URL for a pattern.
    const allowed = METHODS.filter((method) => !('*' in fastify.findRoute({ method, url }).params));
    if (allowed.length === 0) throw new ContractException(404);
    throw new ContractException(405, undefined, { Allow: allowed.join(', ') });
  }
}
