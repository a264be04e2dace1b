import type { IncomingMessage } from 'node:http';

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

/**
 * Returns middleware that keeps body parsers away from `POST` of some paths.
 *
 * @param isOurs called with the path of each `POST`, as the client has sent it
 */
export function unparsedBodyWhere(isOurs: (path: string) => boolean): Middleware {
  return ({ method, url = '', headers }, _response, next) => {
    if (method === 'POST' && isOurs(url.replace(/\?.*$/s, ''))) {
      // Parsers skip a request without these headers (RFC 9112 §6.3). BodyPipe reads them with `sentHeader`.
      delete headers['content-type'];
      delete headers['content-length'];
      delete headers['transfer-encoding'];
    }
    next();
  };
}

/** Returns a header as the client has sent it: `rawHeaders` still has those that the middleware has deleted. */
export function sentHeader(
  { headers, rawHeaders }: IncomingMessage,
  name: 'content-length' | 'content-type' | 'transfer-encoding',
): string | undefined {
  if (headers[name] !== undefined) return headers[name];
  const index = rawHeaders.findIndex((text, position) => position % 2 === 0 && text.toLowerCase() === name);
  return index < 0 ? undefined : rawHeaders[index + 1];
}
