import type { IncomingMessage } from 'node:http';
import { Injectable } from '@nestjs/common';
import { type AbstractHttpAdapter, ApplicationConfig, HttpAdapterHost } from '@nestjs/core';
import { isPlantsPath } from './plants-path.js';

type Middleware = (request: IncomingMessage, response: unknown, next: () => void) => void;

/**
 * Returns middleware that keeps the application's body parsers away from `POST /plants`. PlantsModule then reads the
 * body itself: after the token was checked, with exact ids, and with the contract's answer to invalid JSON. The module
 * registers such middleware for its own path; a host needs it with RouterModule, and where the log says so. Register it
 * before the application listens, with the whole path: `app.use('/garden/plants', unparsedBody())`. Other paths, including those
 * below that one, are unaffected.
 */
export function unparsedBody(): Middleware {
  // Express and Fastify have cut off the path that the middleware is registered for.
  return unparsedBodyWhere((path) => path === '' || path === '/');
}

/** Registers such middleware for the path of PlantsController. */
@Injectable()
export class UnparsedPlants {
  constructor(config: ApplicationConfig, adapterHost: HttpAdapterHost) {
    // Nest emits `init` when the application gets its adapter, before it registers its body parser in `app.init()`:
    // https://docs.nestjs.com/faq/http-adapter. It has emitted already, except in a test, which creates the application
    // from its module. Middleware of a MiddlewareConsumer would come after the parser of Express:
    // https://github.com/nestjs/nest/blob/master/packages/core/nest-application.ts
    adapterHost.init$.subscribe(() => {
      // An application context without a server has none.
      const adapter = adapterHost.httpAdapter as AbstractHttpAdapter | null;
      adapter?.use(unparsedBodyWhere((path) => isPlantsPath(path, config, adapter)));
    });
  }
}

/**
 * Returns middleware that keeps body parsers away from `POST` of some paths.
 *
 * @param isOurs called with the path of each `POST`, as the client has sent it
 */
export function unparsedBodyWhere(isOurs: (path: string) => boolean): Middleware {
  return ({ method, url = '', headers }, _response, next) => {
    if (method === 'POST' && isOurs(url.replace(/\?.*$/s, ''))) {
      // Parsers skip a request without these headers (RFC 9112 §6.3). BodyPipe finds them in `rawHeaders`.
      delete headers['content-type'];
      delete headers['content-length'];
      delete headers['transfer-encoding'];
    }
    next();
  };
}
