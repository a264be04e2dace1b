import type { IncomingMessage } from 'node:http';

/**
 * Returns middleware that keeps the application's body parsers away from `POST /plants`. PlantsModule then reads the
 * body itself: after the token was checked, with exact ids, and with the contract's answer to invalid JSON. Register
 * it before the application listens, with the whole path: `app.use('/api/plants', unparsedBody())`. Other paths,
 * including those below that one, are unaffected.
 */
export function unparsedBody() {
  return ({ headers, method, url = '' }: IncomingMessage, _response: unknown, next: () => void): void => {
    // Express and Fastify have cut off the path that the middleware is registered for.
    if (method === 'POST' && /^\/?(?:\?|$)/.test(url)) {
      // Parsers skip a request without these (RFC 9112 §6.3). BodyPipe finds them in `rawHeaders`.
      delete headers['content-type'];
      delete headers['content-length'];
      delete headers['transfer-encoding'];
    }
    next();
  };
}
