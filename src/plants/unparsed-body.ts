import type { IncomingMessage, ServerResponse } from 'node:http';
import { Logger } from '@nestjs/common';
import type { AbstractHttpAdapter } from '@nestjs/core';

const logger = new Logger('PlantStore');

/**
 * Returns middleware that keeps the application's body parsers away from `POST /plants`. PlantsModule then reads the
 * body itself: after the token was checked, with exact ids, and with the contract's answer to invalid JSON. The module
 * registers such middleware for its own path; a host needs it only where the module does not know the path. Register it
 * before the application listens, with the whole path: `app.use('/garden/plants', unparsedBody())`. Other paths,
 * including those below that one, are unaffected.
 */
export function unparsedBody() {
  let hasWarned = false;
  return (request: IncomingMessage, response: ServerResponse, next: () => void): void => {
    const { method, url = '' } = request;
    // Express and Fastify have cut off the path that the middleware is registered for.
    if (method === 'POST' && /^\/?(?:\?|$)/.test(url)) {
      hideBody(request);
      response.once('finish', () => {
        if (response.statusCode !== 404 || hasWarned) return;
        hasWarned = true;
        logger.warn('unparsedBody() is registered for a path that nothing serves: give it the path of PlantsModule');
      });
    }
    next();
  };
}

/**
 * Returns the middleware that PlantsModule registers for its own path.
 *
 * @param path called at the first request, when the application has set its global prefix
 */
export function unparsedBodyAt(path: () => string, httpAdapter: AbstractHttpAdapter) {
  const routing = routingOf(httpAdapter);
  let served: string | undefined;
  return (request: IncomingMessage, _response: unknown, next: () => void): void => {
    served ??= canonicalPath(path(), routing);
    if (request.method === 'POST' && canonicalPath(request.url ?? '', routing) === served) hideBody(request);
    next();
  };
}

/** The options of Fastify's router: https://fastify.dev/docs/latest/Reference/Server/#routeroptions */
interface Routing {
  readonly caseSensitive?: boolean;
  readonly ignoreTrailingSlash?: boolean;
  readonly ignoreDuplicateSlashes?: boolean;
  readonly useSemicolonDelimiter?: boolean;
  /** Fastify decodes the path. */
  readonly decodes: boolean;
}

function routingOf(httpAdapter: AbstractHttpAdapter): Routing {
  if (httpAdapter.getType() !== 'fastify') {
    // https://expressjs.com/en/5x/api.html#app.settings.table
    return { caseSensitive: false, ignoreTrailingSlash: true, decodes: false };
  }
  const { initialConfig } = httpAdapter.getInstance<{ initialConfig: Routing & { routerOptions?: Routing } }>();
  return { ...initialConfig, ...initialConfig.routerOptions, decodes: true };
}

/** Returns one spelling for all that the router serves alike; undefined if it refuses the path. */
function canonicalPath(url: string, routing: Routing): string | undefined {
  // A client may send a whole URL (RFC 9112 §3.2.2).
  const target = url.replace(/^https?:\/\/[^/?#]*/i, '');
  let [path = ''] = target.split(routing.useSemicolonDelimiter ? /[?#;]/ : /[?#]/, 1);
  try {
    if (routing.decodes) path = decodeURI(path);
  } catch {
    return undefined;
  }
  if (routing.ignoreDuplicateSlashes) path = path.replace(/\/{2,}/g, '/');
  if (routing.ignoreTrailingSlash) path = path.replace(/\/$/, '');
  return routing.caseSensitive === false ? path.toLowerCase() : path;
}

/** Parsers skip a request without these headers (RFC 9112 §6.3). BodyPipe finds them in `rawHeaders`. */
function hideBody({ headers }: IncomingMessage): void {
  delete headers['content-type'];
  delete headers['content-length'];
  delete headers['transfer-encoding'];
}
