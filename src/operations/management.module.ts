import type { RequestListener, Server } from 'node:http';
import { type DynamicModule, type INestApplication, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { OpenAPIObject } from '@nestjs/swagger';
import { TerminusModule } from '@nestjs/terminus';
import { DOCUMENT, ManagementController } from './management.controller.js';
import { Metrics } from './metrics.js';
import { setUpDocsPage } from './docs-page.js';
import { createOpenApiDocument } from './openapi-document.js';
import { Readiness } from './readiness.js';

/** What the pages of the management listener need. */
interface Options {
  readonly metrics: Metrics;
  readonly readiness: Readiness;
  readonly document: OpenAPIObject;
}

@Module({})
class ManagementModule {
  static register({ metrics, readiness, document }: Options): DynamicModule {
    return {
      module: ManagementModule,
      imports: [TerminusModule.forRoot({ logger: false })],
      controllers: [ManagementController],
      providers: [
        { provide: Metrics, useValue: metrics },
        { provide: Readiness, useValue: readiness },
        { provide: DOCUMENT, useValue: document },
      ],
    };
  }
}

/**
 * An application of its own, so that nothing of the public one holds here, nor the other way round.
 *
 * @param app the public application
 * @param options.server the server that the requests come from
 * @param options.url where the public application is
 */
export async function createManagementHandler(
  app: INestApplication,
  options: { readonly server: Server; readonly url: string; readonly metrics: Metrics; readonly readiness: Readiness },
): Promise<{ readonly handle: RequestListener; close(): Promise<void> }> {
  const { server, url, metrics, readiness } = options;
  const document = await createOpenApiDocument(app, url);
  let handle: RequestListener | undefined;
  const adapter = new FastifyAdapter({
    serverFactory: (handler: RequestListener) => {
      handle = handler;
      return server;
    },
  });
  const management = await NestFactory.create(ManagementModule.register({ metrics, readiness, document }), adapter, {
    // The public application has kept to itself what Nest says of a start.
    autoFlushLogs: false,
  });
  setUpDocsPage(management, document, url);
  await management.init();
  await adapter.getInstance().ready();
  if (handle === undefined) throw new Error('Fastify made no handler');
  return { handle, close: () => management.close() };
}
