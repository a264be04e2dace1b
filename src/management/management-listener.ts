import { existsSync } from 'node:fs';
import { type AddressInfo, isIP } from 'node:net';
import { fileURLToPath } from 'node:url';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { SwaggerModule } from '@nestjs/swagger';
import type { onRequestHookHandler } from 'fastify';
import { WITHOUT_SCHEMAS } from '../http/without-schemas.js';
import { limitConnections, refusePipelining } from './connection-limits.js';
import type { ManagedService } from './managed-service.js';
import { ManagementModule } from './management.module.js';
import { OpenApiDocument } from './openapi-document.js';

/** The files of Swagger UI beside the bundle. If there is no bundle, Nest finds them in their package. */
const SWAGGER_UI = fileURLToPath(new URL('../swagger-ui', import.meta.url));

const MAX_CONNECTIONS = 64;

/** Bounds a connection: bodies in bytes, and times in milliseconds. */
const LIMITS = {
  bodyLimit: 1_024,
  // Closes connections without a request.
  keepAliveTimeout: 5_000,
  requestTimeout: 5_000,
  http: { headersTimeout: 5_000, connectionsCheckingInterval: 1_000 },
  // Closes the connection of a client that does not read its answers. The slowest answer must take less.
  connectionTimeout: 10_000,
};

const MISDIRECTED =
  'This listener does not answer this Host: use an IP address, or add the name to MANAGEMENT_ALLOWED_HOSTS';

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
  const application = await NestFactory.create<NestFastifyApplication>(
    ManagementModule.register(service),
    new FastifyAdapter({ ...WITHOUT_SCHEMAS, ...LIMITS, forceCloseConnections: true }),
    { abortOnError: false },
  );
  limitConnections(application.getHttpServer(), MAX_CONNECTIONS);
  // These are hooks, because guards do not act on the docs page.
  application
    .getHttpAdapter()
    .getInstance()
    .addHook('onRequest', refusePipelining())
    .addHook('onRequest', (_request, reply, done) => {
      reply.headers(headersFor(service));
      done();
    })
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

/**
 * Refuses requests whose Host header has neither an IP address nor one of these names. This prevents DNS rebinding: an
 * attacker can let the name of a web page resolve to this listener, but the page's requests still carry that name.
 */
function refuseOtherHosts(allowed: readonly string[]): onRequestHookHandler {
  const names = allowed.map((name) => name.toLowerCase());
  return ({ headers }, reply, done) => {
    if (isAllowedHost(headers.host, names)) done();
    else void reply.code(421).send({ statusCode: 421, error: 'Misdirected Request', message: MISDIRECTED });
  };
}

/**
 * Returns whether a Host header has an IP address or one of these names.
 *
 * @param header may have a port; undefined is allowed, because browsers always send the header
 */
function isAllowedHost(header: string | undefined, names: readonly string[]): boolean {
  if (header === undefined) return true;
  const host = header.toLowerCase().replace(/:\d*$/, '');
  const address = host.replace(/^\[(.*)\]$/, '$1');
  // A full name may end with a dot, as in `localhost.`.
  return isIP(address) !== 0 || names.includes(host.replace(/\.$/, ''));
}

/**
 * Returns the headers of all answers. They keep the docs page from loading anything from other hosts, and from sending
 * them anything, such as a token.
 */
function headersFor({ baseUrl }: ManagedService): Readonly<Record<string, string>> {
  const publicOrigin = baseUrl === undefined ? '' : ` ${new URL(baseUrl).origin}`;
  return {
    'Content-Security-Policy':
      `default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; ` +
      `connect-src 'self'${publicOrigin}; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`,
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-cache',
  };
}
