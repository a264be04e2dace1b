import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type INestApplication, Logger } from '@nestjs/common';
import { GroupCommit } from '../storage/group-commit.js';
import { PlantRepository } from '../storage/plant-repository.js';
import { Metrics } from './metrics.js';
import { Readiness } from './readiness.js';
import type { RequestHandler } from './request-handler.js';

/** The paths of the OpenAPI document and of the page about it. */
const DOCUMENTATION = /^\/(?:docs|openapi\.json)(?:[/?]|$)/;

/** The listener of those who operate the service: health, metrics and documents. It asks for no token. */
export interface ManagementServer {
  /** Where it listens, without a trailing slash. */
  readonly url: string;
  /** Its own origins, as browsers call them: the documentation creates plants from there. */
  readonly origins: readonly string[];
  /** Says from now on that no more requests are to be sent to the service. */
  shuttingDown(): void;
  /** Ends it, and the connections to it. */
  close(): Promise<void>;
}

/**
 * Listens at once, and gets ready to answer by and by: what answers is large, and no part of a quick start.
 *
 * @param app the public application, which listens
 * @param options.port 0 … 65535, where 0 takes any free port
 * @throws the error of the socket, where it cannot listen
 */
export async function startManagementServer(
  app: INestApplication,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<ManagementServer> {
  const server = createServer();
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The management listener has no port');
  // Asked for now: an application that shuts down has none.
  const url = await app.getUrl();
  const metrics = new Metrics(app.get(GroupCommit, { strict: false }));
  const readiness = new Readiness(app.get(PlantRepository, { strict: false }));
  const management = import('./management.module.js').then(({ createManagementHandler }) =>
    createManagementHandler(server, { metrics, readiness }),
  );
  const logger = new Logger('Management');
  let documentation: Promise<RequestHandler> | undefined;
  // Not before somebody asks: it takes more memory than the rest of the listener, and few services are asked.
  const documentationHandler = (): Promise<RequestHandler> =>
    (documentation ??= import('./documentation.module.js').then(({ createDocumentationHandler }) =>
      createDocumentationHandler(app, url),
    ));
  const answer: RequestListener = (request, response) => {
    const handler = DOCUMENTATION.test(request.url ?? '') ? documentationHandler() : management;
    handler.then(
      ({ handle }) => handle(request, response),
      (error: unknown) => {
        const [message, stack] = error instanceof Error ? [error.message, error.stack] : [String(error)];
        logger.error(`A page of the management listener cannot be made: ${message}`, stack);
        response.writeHead(500).end();
      },
    );
  };
  server.on('request', answer);
  const own = `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`;
  return {
    url: own,
    // Whoever stands before the machine may call it either way.
    origins: [own, `http://localhost:${address.port}`],
    shuttingDown: () => void (readiness.isShuttingDown = true),
    async close() {
      metrics.close();
      // What could not be made needs no end, and has been logged.
      await (await documentation?.catch(() => undefined))?.close();
      await (await management).close();
      server.close();
      server.closeAllConnections();
    },
  };
}
