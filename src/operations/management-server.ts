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

/** Pages that are made when they are first asked for, and again where that failed: what was missing may be back. */
class Pages {
  #handler: Promise<RequestHandler> | undefined;

  constructor(private readonly make: () => Promise<RequestHandler>) {}

  get handler(): Promise<RequestHandler> {
    return (this.#handler ??= this.make().catch((error: unknown) => {
      this.#handler = undefined;
      throw error;
    }));
  }

  /** What could not be made needs no end. */
  async close(): Promise<void> {
    await (await this.#handler?.catch(() => undefined))?.close();
  }
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
  const logger = new Logger('Management');
  const pages = new Pages(async () => {
    const { createManagementHandler } = await import('./management.module.js');
    return createManagementHandler(server, { metrics, readiness });
  });
  // Not before somebody asks: it takes more memory than the rest of the listener, and few services are asked.
  const documentation = new Pages(async () => {
    const { createDocumentationHandler } = await import('./documentation.module.js');
    return createDocumentationHandler(app, url);
  });
  const report = (error: unknown): void => {
    const [message, stack] = error instanceof Error ? [error.message, error.stack] : [String(error)];
    logger.error(`A page of the management listener cannot be made: ${message}`, stack);
  };
  const answer: RequestListener = (request, response) => {
    const { handler } = DOCUMENTATION.test(request.url ?? '') ? documentation : pages;
    handler.then(
      ({ handle }) => handle(request, response),
      (error: unknown) => {
        report(error);
        response.writeHead(500).end();
      },
    );
  };
  server.on('request', answer);
  pages.handler.catch(report);
  const own = `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`;
  return {
    url: own,
    // Whoever stands before the machine may call it either way.
    origins: [own, `http://localhost:${address.port}`],
    shuttingDown: () => void (readiness.isShuttingDown = true),
    async close() {
      metrics.close();
      await documentation.close();
      await pages.close();
      server.close();
      server.closeAllConnections();
    },
  };
}
