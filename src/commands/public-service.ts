import { Logger } from '@nestjs/common';
import type { ReloadableTokens } from '../auth/reloadable-tokens.js';
import type { Configuration } from '../config/configuration.js';
import type { Certificate } from '../http/certificate.js';
import type { PublicServer } from '../http/public-server.js';
import type { StructuredLogger } from '../logging/structured-logger.js';
import type { PlantQueue } from '../management/metrics.js';
import type { Workers } from '../management/worker-metrics.js';
import { sqliteFile } from '../storage/database-options.js';
import { GroupCommit } from '../storage/group-commit.js';
import type { PlantRepository } from '../storage/plant-repository.js';
import { SharedCommit } from '../storage/shared-commit.js';
import { createPublicApplication, listenForClients, openConfiguredStore } from './public-application.js';
import { WorkerPool } from './worker-pool.js';

/** The public port and the store, whichever processes serve them. */
export interface PublicService {
  readonly repository: PlantRepository;
  readonly queue: PlantQueue;
  readonly workers: Workers | undefined;
  /** Resolves with the reason when the service cannot go on. */
  readonly failure: Promise<string>;
  /** @returns {base_url} */
  listen(): Promise<string>;
  /** Lets pages of these origins create plants. */
  allowOrigins(origins: readonly string[]): void;
  /** The certificate in use. */
  readonly certificate: Certificate | undefined;
  /** Uses another certificate for new connections. */
  setCertificate(certificate: Certificate): void;
  /** Resolves when the requests in flight are answered, and the store is closed. */
  close(): Promise<void>;
}

/** Serves the public port with this process. */
export async function createOwnService(
  configuration: Configuration,
  tokens: ReloadableTokens,
  certificate: Certificate | undefined,
  logger: StructuredLogger,
): Promise<PublicService> {
  const repository = await openConfiguredStore(configuration, configuration.databasePoolSize, logger);
  const origins = new Set(configuration.corsOrigins);
  const app = await createPublicApplication(configuration, { repository, tokens, certificate, origins, logger });
  logger.logRequests(configuration.logRequests);
  const server = app.getHttpServer() as PublicServer;
  return {
    repository,
    queue: app.get(GroupCommit, { strict: false }),
    workers: undefined,
    failure: new Promise(() => undefined),
    listen: () => listenForClients(app, configuration),
    allowOrigins(added) {
      for (const origin of added) origins.add(origin);
    },
    get certificate() {
      return server.certificate;
    },
    setCertificate: (changed) => server.setCertificate(changed),
    close: () => app.close(),
  };
}

/** Serves the public port with workers, to which this process gives what may change while they run. */
export async function createServiceWithWorkers(
  configuration: Configuration,
  tokens: ReloadableTokens,
  certificate: Certificate | undefined,
  logger: StructuredLogger,
): Promise<PublicService> {
  Logger.overrideLogger(logger);
  // The workers have the other connections to a database server. This one is for health checks.
  const repository = await openConfiguredStore(configuration, 1, logger);
  const queue = new SharedCommit(repository);
  const isOwner = sqliteFile(configuration.databaseUrl) !== undefined;
  const pool = new WorkerPool(configuration, isOwner ? queue : undefined, {
    tokens: [],
    certificate,
    origins: configuration.corsOrigins,
  });
  tokens.follow((changed) => pool.share({ tokens: changed }));
  return {
    repository,
    queue,
    workers: pool,
    failure: pool.failure,
    listen: () => pool.listen(),
    allowOrigins: (added) => pool.share({ origins: [...configuration.corsOrigins, ...added] }),
    get certificate() {
      return pool.certificate;
    },
    setCertificate: (changed) => pool.share({ certificate: changed }),
    close: () => pool.close().finally(() => repository.close()),
  };
}
