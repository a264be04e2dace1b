import type { RequestListener, Server } from 'node:http';
import type { DynamicModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';

/** An application of its own, so that nothing of the public one holds in it, nor the other way round. */
export interface RequestHandler {
  readonly handle: RequestListener;
  close(): Promise<void>;
}

/**
 * @param module the application
 * @param server the server that the requests come from, where there is one to wait for at the end
 * @param setUp what to do before it is ready
 */
export async function createRequestHandler(
  module: DynamicModule,
  server: Server,
  setUp?: (application: NestFastifyApplication) => void,
): Promise<RequestHandler> {
  let handle: RequestListener | undefined;
  const adapter = new FastifyAdapter({
    serverFactory: (handler: RequestListener) => {
      handle = handler;
      return server;
    },
    // No route has a schema, and what compiles them is large.
    schemaController: { compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler } },
    // Nor does any use Nest's middleware.
    skipMiddie: true,
  });
  const application = await NestFactory.create<NestFastifyApplication>(module, adapter, {
    // The public application has kept to itself what Nest says of a start.
    autoFlushLogs: false,
    // By default, what cannot be made ends the process.
    abortOnError: false,
  });
  try {
    setUp?.(application);
    await application.init();
    await adapter.getInstance().ready();
    if (handle === undefined) throw new Error('Fastify made no handler');
    return { handle, close: () => application.close() };
  } catch (error) {
    await application.close();
    throw error;
  }
}

function noCompiler(): never {
  throw new Error('The routes of the management listener have no schemas');
}
