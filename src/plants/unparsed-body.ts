import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Injectable } from '@nestjs/common';
import { type AbstractHttpAdapter, ApplicationConfig, HttpAdapterHost } from '@nestjs/core';
import { PLANTS_PATH } from './plants.module-definition.js';

const SENT_HEADERS = Symbol('sent headers');

/** A request, with a copy of its headers if the middleware has deleted some of them. */
type Request = IncomingMessage & { [SENT_HEADERS]?: IncomingHttpHeaders };

type Middleware = (request: IncomingMessage, response: unknown, next: () => void) => void;

/**
 * Returns middleware that keeps the application's body parsers away from `POST /plants`. PlantsModule then reads the
 * body itself: after the token was checked, with exact ids, and with the contract's answer to invalid JSON. The module
 * registers such middleware for its path below the global prefix. For any other path, such as that of RouterModule,
 * register this one yourself, before all body parsers: `app.use('/garden/plants', unparsedBody())`. Paths below are
 * unaffected.
 */
export function unparsedBody(): Middleware {
  // Express and Fastify cut off the path that the middleware is registered for.
  return hideBodyAt(() => '');
}

/** Registers the middleware of `unparsedBody` for `POST /plants`, when Nest creates this provider. */
@Injectable()
export class UnparsedBodyRegistration {
  constructor(config: ApplicationConfig, adapterHost: HttpAdapterHost) {
    // Called at once in an application of NestFactory, and later in one of a testing module. In both, the middleware
    // precedes the body parser of Express, which `app.init()` registers; that of a MiddlewareConsumer would follow it:
    // https://github.com/nestjs/nest/blob/master/packages/core/nest-application.ts
    adapterHost.init$.subscribe(() => {
      // An application context without a server has no adapter.
      const adapter = adapterHost.httpAdapter as AbstractHttpAdapter | null;
      // The application sets its prefix later.
      adapter?.use(hideBodyAt(() => `${config.getGlobalPrefix()}/${PLANTS_PATH}`));
    });
  }
}

/** Returns middleware that hides the body of `POST` at a path from the parsers that run after it. */
function hideBodyAt(path: () => string): Middleware {
  return (request, _response, next) => {
    if (request.method === 'POST' && samePath(request.url ?? '', path())) hideBody(request);
    next();
  };
}

/** Compares paths as Express does, which ignores the letter case and slashes at the ends. */
function samePath(target: string, path: string): boolean {
  return segmentsOf(target).join('/') === segmentsOf(path).join('/');
}

/**
 * Returns the segments of a request target, which may be absolute, as `http://example.org/plants` (RFC 9112 §3.2.2).
 */
function segmentsOf(target: string): string[] {
  const [, path = ''] = /^(?:https?:\/\/[^/?]*)?([^?]*)/i.exec(target) ?? [];
  return path.toLowerCase().split('/').filter(Boolean);
}

/** Deletes the headers without which parsers skip a request (RFC 9112 §6.3). */
function hideBody(request: Request): void {
  // The middleware may be registered twice.
  if (SENT_HEADERS in request) return;
  request[SENT_HEADERS] = { ...request.headers };
  for (const name of ['content-type', 'content-length', 'transfer-encoding']) {
    Reflect.deleteProperty(request.headers, name);
  }
}

/** Returns the headers of a request as the client sent them. */
export function sentHeaders(request: Request): IncomingHttpHeaders {
  return request[SENT_HEADERS] ?? request.headers;
}
