import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { unescape } from 'node:querystring';
import { Injectable, RequestMethod } from '@nestjs/common';
import { type AbstractHttpAdapter, ApplicationConfig, HttpAdapterHost } from '@nestjs/core';
import { PLANTS_PATH } from './plants.module-definition.js';

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
 * such middleware for its own path. If you use RouterModule, register this one yourself, before all body parsers, with the
 * whole path: `app.use('/garden/plants', unparsedBody())`. Paths below are unaffected.
 */
export function unparsedBody(): Middleware {
  // Express and Fastify cut off the path that the middleware is registered for.
  return hideBodyAt(() => '/');
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
      // The application sets its prefix later.
      adapter.use(hideBodyAt(() => plantsPath(config)));
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

/** Returns middleware that hides the body of `POST` at a path from the parsers that run after it. */
function hideBodyAt(path: () => string): Middleware {
  return (request: Request, _response, next) => {
    // The middleware may be registered twice.
    if (request.method === 'POST' && request[HIDDEN] === undefined && routed(request.url ?? '') === routed(path())) {
      hideBody(request);
    }
    next();
  };
}

/**
 * Returns the path of a request target in one spelling for all that a router may take for the same: Express ignores the
 * letter case and a slash at the end, and Fastify decodes escapes. The target may be absolute, as
 * `http://example.org/plants` (RFC 9112 §3.2.2).
 */
function routed(url: string): string {
  const path = url.replace(/^https?:\/\/[^/?#]*/i, '').replace(/[?#].*$/s, '');
  return unescape(path).replace(/\/$/, '').toLowerCase();
}

function hideBody(request: Request): void {
  const hidden: IncomingHttpHeaders = {};
  for (const name of BODY_HEADERS) {
    hidden[name] = request.headers[name];
    Reflect.deleteProperty(request.headers, name);
  }
  request[HIDDEN] = hidden;
}

/** Returns the headers with those that the middleware has deleted. */
export function sentHeaders(request: Request): IncomingHttpHeaders {
  const { [HIDDEN]: hidden, headers } = request;
  return hidden === undefined ? headers : { ...hidden, ...headers };
}
