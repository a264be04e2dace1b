import type { Server } from 'node:https';
import { createApplication } from '../app.module.js';
import { type TokenVerifier, TokenVerifiers } from '../auth/token-verifier.js';
import type { Configuration } from '../config/configuration.js';
import { readVersion } from '../config/version.js';
import type { PublicApplication } from '../http/fastify-adapter.js';
import type { StructuredLogger } from '../logging/structured-logger.js';
import type { Metrics } from '../management/metrics.js';
import type { ProcessMetrics } from '../management/worker-metrics.js';
import { GroupCommit } from '../storage/group-commit.js';
import { listen } from './listen.js';
import { reloadTokens, type ServiceParts } from './service-parts.js';
import { expiryOf, watchCertificate } from './start-files.js';

/** Connections that wait to be accepted, at most; the operating system may allow fewer (on Linux, net.core.somaxconn). */
const BACKLOG = 4_096;

/** The public port, whichever processes serve it. */
export interface PublicService {
  /** The reason why no process takes requests; undefined while one does. */
  readonly obstacle: string | undefined;
  /** @returns {base_url} */
  listen(): Promise<string>;
  /** Reads the token file again, in all processes. */
  reloadTokens(): Promise<void>;
  /** Returns the metrics in the text format of Prometheus. */
  metrics(): Promise<string>;
  /** Resolves when the requests in flight are answered, and the store is closed. */
  close(): Promise<void>;
  /** Ends the other processes of the service at once; the caller ends this one. */
  abort(): void;
}

/** Serves the public port with this process. */
export class InProcessService implements PublicService {
  readonly obstacle = undefined;
  #app: PublicApplication | undefined;
  #metrics: Metrics | undefined;

  constructor(
    private readonly configuration: Configuration,
    private readonly parts: ServiceParts,
    private readonly logger: StructuredLogger,
  ) {}

  async listen(): Promise<string> {
    const { host, port, basePath, logRequests, managementPort } = this.configuration;
    const app = (this.#app = await createPublicApplication(this.configuration, this.parts, this.logger));
    this.logger.logRequests(logRequests);
    if (managementPort !== 'off') this.#metrics = await this.#count(app.get(GroupCommit, { strict: false }));
    await listen('HOST and PORT', `${host}:${port}`, () => app.listen({ port, host, backlog: BACKLOG }));
    // Nest reports http, because the adapter creates the HTTPS server.
    const origin = (await app.getUrl()).replace(/^https?/, this.parts.certificate === undefined ? 'http' : 'https');
    const server = app.getHttpServer() as Server;
    watchCertificate(this.parts, this.configuration, (changed) => server.setSecureContext(changed));
    return `${origin}${basePath}`;
  }

  reloadTokens(): Promise<void> {
    return reloadTokens(this.parts);
  }

  async metrics(): Promise<string> {
    return (await this.#metrics?.registry.metrics()) ?? '';
  }

  /** Returns the metrics for the primary. */
  async metricsAsJson(): Promise<ProcessMetrics> {
    return (await this.#metrics?.registry.getMetricsAsJSON()) ?? [];
  }

  async close(): Promise<void> {
    await (this.#app ?? this.parts.repository).close();
  }

  abort(): void {
    // There is no other process.
  }

  async #count(queue: GroupCommit): Promise<Metrics> {
    const { Metrics } = await import('../management/metrics.js');
    return new Metrics(readVersion(), {
      queueDepth: () => queue.depth,
      certificateExpiry: () => expiryOf(this.parts.certificate),
      tokenExpiry: () => this.parts.tokens.nextExpiry(),
    });
  }
}

async function createPublicApplication(
  configuration: Configuration,
  { tokens, certificate, repository }: ServiceParts,
  logger: StructuredLogger,
): Promise<PublicApplication> {
  return createApplication({
    basePath: configuration.basePath,
    plants: {
      repository,
      authentication: { verifier: await createVerifier(tokens, configuration) },
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
      origins: new Set(configuration.corsOrigins),
      certificate,
    },
    logger,
  });
}

/** Accepts static tokens and, if an issuer is configured, its JWTs. */
async function createVerifier(tokens: TokenVerifier, configuration: Configuration): Promise<TokenVerifier> {
  const { jwtIssuer: issuer, jwtAudience: audience, jwtJwksUrl, jwtType: type } = configuration;
  if (issuer === undefined || audience === undefined) return tokens;
  const { JwtVerifier } = await import('../auth/jwt-verifier.js');
  const jwksUrl = jwtJwksUrl === undefined ? undefined : new URL(jwtJwksUrl);
  return new TokenVerifiers([tokens, new JwtVerifier({ issuer, audience, jwksUrl, type })]);
}
