import type { IncomingMessage, ServerResponse } from 'node:http';
import { Logger } from '@nestjs/common';

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
 * Returns middleware that does so for a path, which the global prefix completes before the first request.
 *
 * @param platform as `getType` of the HTTP adapter returns it
 */
export function unparsedBodyAt(path: () => string, platform: string) {
  const served = platform === 'express' ? servedByExpress : servedByFastify;
  return (request: IncomingMessage, _response: unknown, next: () => void): void => {
    if (request.method === 'POST' && served(request.url ?? '') === served(path())) hideBody(request);
    next();
  };
}

/** Express ignores case and one slash at the end: https://expressjs.com/en/5x/api.html#app.settings.table */
function servedByExpress(url: string): string {
  return pathOf(url).replace(/\/$/, '').toLowerCase();
}

/** Fastify decodes the path, and refuses one that cannot be decoded. */
function servedByFastify(url: string): string | undefined {
  try {
    return decodeURI(pathOf(url));
  } catch {
    return undefined;
  }
}

function pathOf(url: string): string {
  return url.split(/[?#]/, 1)[0] ?? '';
}

/** Parsers skip a request without these headers (RFC 9112 §6.3). BodyPipe finds them in `rawHeaders`. */
function hideBody({ headers }: IncomingMessage): void {
  delete headers['content-type'];
  delete headers['content-length'];
  delete headers['transfer-encoding'];
}
