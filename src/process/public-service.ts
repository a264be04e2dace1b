import type { Server } from 'node:https';
import type { LoggerService } from '@nestjs/common';
import { createApplication } from '../app.module.js';
import type { StaticTokens } from '../auth/static-tokens.js';
import { type TokenVerifier, TokenVerifiers } from '../auth/token-verifier.js';
import type { Configuration } from '../config/configuration.js';
import type { Certificate } from '../http/certificate.js';
import type { PublicApplication } from '../http/fastify-adapter.js';
import type { StructuredLogger } from '../logging/structured-logger.js';
import type { PlantQueue } from '../management/metrics.js';
import type { Workers } from '../management/worker-metrics.js';
import { GroupCommit } from '../storage/group-commit.js';
import { openRepository } from '../storage/open-repository.js';
import type { PlantRepository } from '../storage/plant-repository.js';
import { listen } from './listen.js';

/** Connections that wait to be accepted, at most; the operating system may allow fewer (on Linux, net.core.somaxconn). */
const BACKLOG = 4_096;

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
  /** Ends the other processes of the service at once; the caller ends this one. */
  abort(): Promise<void>;
}

/** Serves the public port with this process. */
export async function createServiceInProcess(
  configuration: Configuration,
  tokens: StaticTokens,
  certificate: Certificate | undefined,
  logger: StructuredLogger,
): Promise<PublicService> {
  const repository = await openConfiguredStore(configuration, logger);
  const origins = new Set(configuration.corsOrigins);
  const app = await createPublicApplication(configuration, { repository, tokens, certificate, origins, logger });
  logger.logRequests(configuration.logRequests);
  let current = certificate;
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
      return current;
    },
    setCertificate(changed) {
      (app.getHttpServer() as Server).setSecureContext(changed);
      current = changed;
    },
    close: () => app.close(),
    abort: () => Promise.resolve(),
  };
}

/** Creates the application of the public port. */
export async function createPublicApplication(
  configuration: Configuration,
  parts: {
    readonly repository: PlantRepository;
    readonly tokens: StaticTokens;
    readonly certificate: Certificate | undefined;
    /** The origins whose pages may create plants; the set may change. */
    readonly origins: ReadonlySet<string>;
    readonly logger: LoggerService;
  },
): Promise<PublicApplication> {
  return createApplication({
    basePath: configuration.basePath,
    plants: {
      repository: parts.repository,
      authentication: { verifier: await createVerifier(parts.tokens, configuration) },
      scope: configuration.requiredScope,
      body: { limit: configuration.bodyLimit },
    },
    http: {
      limits: {
        request: configuration.requestTimeout,
        keepAlive: configuration.keepAliveTimeout,
        connections: configuration.maxConnections,
      },
      trustProxy: configuration.trustProxy,
      origins: parts.origins,
      certificate: parts.certificate,
    },
    logger: parts.logger,
  });
}

/** Accepts static tokens and, if an issuer is configured, its JWTs. */
async function createVerifier(
  tokens: StaticTokens,
  { jwtIssuer, jwtAudience, jwtJwksUrl, jwtType }: Configuration,
): Promise<TokenVerifier> {
  if (jwtIssuer === undefined || jwtAudience === undefined) return tokens;
  const { JwtVerifier } = await import('../auth/jwt-verifier.js');
  return new TokenVerifiers([
    tokens,
    new JwtVerifier({ issuer: jwtIssuer, audience: jwtAudience, jwksUrl: jwtJwksUrl, type: jwtType }),
  ]);
}

/** Opens the store, or creates it. */
export function openConfiguredStore(configuration: Configuration, logger: LoggerService): Promise<PlantRepository> {
  const { databaseUrl, storeTimeout, databaseStartTimeout } = configuration;
  return openRepository(databaseUrl, {
    timeout: storeTimeout,
    startTimeout: databaseStartTimeout,
    onWait: (reason) => void logger.warn(`The start waits for the database: ${reason}`, 'PlantStore'),
  });
}

/** @returns {base_url} */
export async function listenForClients(app: PublicApplication, configuration: Configuration): Promise<string> {
  const { host, port, basePath, tlsCertFile } = configuration;
  await listen('HOST and PORT', `${host}:${port}`, () => app.listen({ port, host, backlog: BACKLOG }));
  // Nest reports http, because the adapter creates the HTTPS server.
  const origin = (await app.getUrl()).replace(/^https?/, tlsCertFile === undefined ? 'http' : 'https');
  return `${origin}${basePath}`;
}
