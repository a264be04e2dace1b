import { METHODS } from 'node:http';
import { All, Controller, Req, UseGuards } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import { BearerAuthGuard } from '../auth/bearer-auth.guard.js';
import { ContractException } from '../contract/contract.exception.js';

/** The path of the operation, with that of {base_url}; the class is also the injection token. */
export abstract class PlantsPath {
  abstract readonly path: string;
}

/**
 * Matches every path and method without a route. Nest answers these before its guards; with a route, the guard runs, so
 * that no path is open, and only holders of a token learn which paths exist.
 */
@Controller()
@UseGuards(BearerAuthGuard)
export class NotFoundController {
  constructor(
    private readonly adapterHost: HttpAdapterHost<FastifyAdapter>,
    private readonly plants: PlantsPath,
  ) {}

  @All('*')
  refuse(@Req() { url }: { readonly url: string }): never {
    const fastify = this.adapterHost.httpAdapter.getInstance();
    const isThisRoute = (method: string): boolean => '*' in fastify.findRoute({ method, url }).params;
    const allowed = METHODS.filter((method) => !isThisRoute(method));
    if (allowed.length === 0) throw new ContractException(404, `There is no such path: use POST ${this.plants.path}.`);
    throw new ContractException(405, undefined, { Allow: allowed.join(', ') });
  }
}
