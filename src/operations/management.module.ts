import type { Server } from 'node:http';
import { type DynamicModule, Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { ManagementController } from './management.controller.js';
import { Metrics } from './metrics.js';
import { Readiness } from './readiness.js';
import { createRequestHandler, type RequestHandler } from './request-handler.js';

/** What the pages of the management listener need. */
interface Options {
  readonly metrics: Metrics;
  readonly readiness: Readiness;
}

@Module({})
class ManagementModule {
  static register({ metrics, readiness }: Options): DynamicModule {
    return {
      module: ManagementModule,
      imports: [TerminusModule.forRoot({ logger: false })],
      controllers: [ManagementController],
      providers: [
        { provide: Metrics, useValue: metrics },
        { provide: Readiness, useValue: readiness },
      ],
    };
  }
}

/** @param server the server that the requests come from */
export function createManagementHandler(server: Server, options: Options): Promise<RequestHandler> {
  return createRequestHandler(ManagementModule.register(options), server);
}
