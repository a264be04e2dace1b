import { existsSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { SwaggerModule } from '@nestjs/swagger';
import { WITHOUT_SCHEMAS } from '../http/without-schemas.js';
import { Connections } from './connections.js';
import type { ManagedService } from './managed-service.js';
import { ManagementModule } from './management.module.js';
import { OpenApiDocument } from './openapi-document.js';
import { addHeaders, refuseOtherHosts } from './request-hooks.js';

/** The files of Swagger UI beside the bundle. If there is no bundle, Nest finds them in their package. */
const SWAGGER_UI = fileURLToPath(new URL('../swagger-ui', import.meta.url));

const MAX_CONNECTIONS = 64;

/** Maximum bytes of a body. */
const BODY_LIMIT = 1_024;

/** Milliseconds for a request to arrive, and without a request. */
const TIMEOUTS = {
  keepAliveTimeout: 5_000,
  requestTimeout: 5_000,
  headersTimeout: 5_000,
  connectionsCheckingInterval: 1_000,
};

/** Milliseconds for a client to read its answer. The slowest answer must take less. */
const ANSWER_TIMEOUT = 10_000;

/** The listener for operators. */
export interface Management {
  readonly application: NestFastifyApplication;
  /** The port of the listener, which the operating system has chosen if the setting is 0. */
  readonly port: number;
}

interface ManagementOptions {
  readonly host: string;
  readonly port: number;
  /** Names in Host headers that are answered, besides `host`, `localhost` and IP addresses. */
  readonly allowedHosts: readonly string[];
}

/**
 * Starts the listener for operators: health, metrics and the docs page. It is a separate Nest application, so that it has
 * other guards and filters than the public application, and answers until that has closed.
 */
export async function startManagement(
  service: ManagedService,
  { host, port, allowedHosts }: ManagementOptions,
): Promise<Management> {
  const connections = new Connections();
  const adapter = new FastifyAdapter({
    ...WITHOUT_SCHEMAS,
    bodyLimit: BODY_LIMIT,
    forceCloseConnections: true,
    // Without a factory, Fastify makes a second server for the other address of `localhost`, which has no limit.
    serverFactory: (handler: RequestListener) => {
      const server = createServer(TIMEOUTS, handler).setTimeout(ANSWER_TIMEOUT);
      connections.limit(server, MAX_CONNECTIONS);
      return server;
    },
  });
  const application = await NestFactory.create<NestFastifyApplication>(ManagementModule.register(service), adapter, {
    abortOnError: false,
  });
  // These are hooks, because guards do not act on the docs page.
  application
    .getHttpAdapter()
    .getInstance()
    .addHook('onRequest', connections.refusePipelining())
    .addHook('onRequest', addHeaders(service))
    .addHook('onRequest', refuseOtherHosts(['localhost', host, ...allowedHosts]));
  const document = application.get(OpenApiDocument);
  SwaggerModule.setup('docs', application, () => document.get(), {
    customSiteTitle: 'Plant Store',
    ...(existsSync(SWAGGER_UI) && { customSwaggerUiPath: SWAGGER_UI }),
    raw: false,
    swaggerOptions: { persistAuthorization: false, validatorUrl: null },
  });
  await application.listen(port, host);
  return { application, port: (application.getHttpServer().address() as AddressInfo).port };
}
