import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

/** Parsers skip a request without these headers (RFC 9112 §6.3). */
const BODY_HEADERS = ['content-type', 'content-length', 'transfer-encoding'];

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
  return hideBodyWhere((path) => path === '' || path === '/');
}

/**
 * Returns middleware that hides the body of a `POST` from the parsers that run after it.
 *
 * @param isOurs called with the path of each `POST`, as the client has sent it
 */
export function hideBodyWhere(isOurs: (path: string) => boolean): Middleware {
  return ({ method, url = '', headers }, _response, next) => {
    if (method === 'POST' && isOurs(url.replace(/\?.*$/s, ''))) {
      for (const name of BODY_HEADERS) Reflect.deleteProperty(headers, name);
    }
    next();
  };
}

/** Returns the headers with those that the middleware has deleted: `rawHeaders` still has them. */
export function sentHeaders({ headers, rawHeaders }: IncomingMessage): IncomingHttpHeaders {
  if (!isBodyHidden(headers)) return headers;
  const sent = { ...headers };
  rawHeaders.forEach((text, index) => {
    const name = text.toLowerCase();
    if (index % 2 === 0 && BODY_HEADERS.includes(name)) sent[name] ??= rawHeaders[index + 1];
  });
  return sent;
}

/** Returns whether the middleware has hidden the body of a request that was sent with a media type. */
export function isBodyHidden(headers: IncomingHttpHeaders): boolean {
  return headers['content-type'] === undefined;
}
