import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Injectable, RequestMethod } from '@nestjs/common';
import { type AbstractHttpAdapter, ApplicationConfig, HttpAdapterHost } from '@nestjs/core';
import { PLANTS_PATH } from '../plants.module-definition.js';

/** Parsers skip a request without these headers (RFC 9112 §6.3). */
const BODY_HEADERS = ['content-type', 'content-length', 'transfer-encoding'] as const;

const HIDDEN = Symbol('hidden headers');

/** A request, with the headers that the middleware has deleted. */
type Request = IncomingMessage & { [HIDDEN]?: IncomingHttpHeaders };

type Middleware = (request: IncomingMessage, response: unknown, next: () => void) => void;

/** The adapter of an application without body parsers: the service. */
export interface WithoutBodyParsers {
  readonly hasBodyParsers: false;
}

type Adapter = AbstractHttpAdapter & Partial<WithoutBodyParsers>;

/**
 * Returns middleware that keeps the application's body parsers away from `POST /plants`. PlantsModule then reads the body
 * itself: after the token was checked, with exact ids, and with the contract's answer to invalid JSON. The module registers
 * such middleware for its own path. Register this one yourself if you use RouterModule, or if the log says so: before the
 * application listens, with the whole path, `app.use('/garden/plants', unparsedBody())`. Paths below are unaffected.
 */
export function unparsedBody(): Middleware {
  // Express and Fastify cut off the path that the middleware is registered for.
  return hideBodyWhere((path) => path === '' || path === '/');
}

/** Registers the middleware of `unparsedBody` for `POST /plants`, when Nest creates this provider. */
@Injectable()
export class UnparsedBodyRegistration {
  constructor(config: ApplicationConfig, adapterHost: HttpAdapterHost) {
    // NestFactory has set the adapter before this constructor runs, and a testing module sets it later: `init$` replays
    // (https://docs.nestjs.com/faq/http-adapter). In both cases the middleware precedes the body parser of Express, which
    // `app.init()` registers. A MiddlewareConsumer would register it after the parser:
    // https://github.com/nestjs/nest/blob/master/packages/core/nest-application.ts
    adapterHost.init$.subscribe(() => {
      // An application context without a server has no adapter.
      const adapter = adapterHost.httpAdapter as Adapter | null;
      if (adapter === null || adapter.hasBodyParsers === false) return;
      adapter.use(hideBodyWhere((path) => path === plantsPath(config)));
    });
  }
}

/** Returns the path of `POST /plants`, with the global prefix unless that excludes it. RouterModule may add to this path. */
function plantsPath(config: ApplicationConfig): string {
  const isExcluded = config
    .getGlobalPrefixOptions()
    .exclude?.some(({ requestMethod: method, pathRegex }) => isPost(method) && pathRegex.test(`/${PLANTS_PATH}`));
  const prefix = isExcluded ? [] : config.getGlobalPrefix().split('/').filter(Boolean);
  return ['', ...prefix, PLANTS_PATH].join('/');
}

function isPost(method: RequestMethod): boolean {
  return method === RequestMethod.POST || method === RequestMethod.ALL;
}

/**
 * Returns middleware that hides the body of a `POST` from the parsers that run after it.
 *
 * @param isOurs called with the path of each `POST`, as the client has sent it
 */
function hideBodyWhere(isOurs: (path: string) => boolean): Middleware {
  return (request: Request, _response, next) => {
    const { method, url = '' } = request;
    // The middleware may be registered twice.
    if (method === 'POST' && !isBodyHidden(request) && isOurs(pathOf(url))) hideBody(request);
    next();
  };
}

/** Returns the path of a request target, which may be absolute, as `http://example.org/plants` (RFC 9112 §3.2.2). */
function pathOf(url: string): string {
  return url.replace(/^https?:\/\/[^/?#]*/i, '').replace(/\?.*$/s, '');
}

function hideBody(request: Request): void {
  const hidden: IncomingHttpHeaders = {};
  for (const name of BODY_HEADERS) {
    hidden[name] = request.headers[name];
    Reflect.deleteProperty(request.headers, name);
  }
  request[HIDDEN] = hidden;
}

/** Returns whether the middleware has hidden the body of a request. */
export function isBodyHidden(request: Request): boolean {
  return request[HIDDEN] !== undefined;
}

/** Returns the headers with those that the middleware has deleted. */
export function sentHeaders(request: Request): IncomingHttpHeaders {
  const { [HIDDEN]: hidden, headers } = request;
  return hidden === undefined ? headers : { ...hidden, ...headers };
}
