import type { Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { closeApplication, createApplication } from '../app.module.js';
import { FirstKnownVerifier } from '../auth/first-known-verifier.js';
import type { TokenVerifier } from '../auth/token-verifier.js';
import type { Configuration } from '../config/configuration.js';
import type { PublicApplication } from '../http/fastify-adapter.js';
import type { StructuredLogger } from '../logging/structured-logger.js';
import { Metrics } from '../management/metrics.js';
import { shareMetrics } from '../management/primary-metrics.js';
import { GroupCommit } from '../storage/group-commit.js';
import type { PlantRepository } from '../storage/plant-repository.js';
import { type Address, docsOrigins } from './addresses.js';
import { explainListenError } from './listen-error.js';
import type { OperatorFiles } from './operator-files.js';
import { Service } from './service.js';
import { readVersion } from './version.js';

/** Maximum connections that wait to be accepted. The system may allow fewer (on Linux, net.core.somaxconn). */
const BACKLOG = 4_096;

/** Serves the public port with this process, which is the only one, or a worker. */
export class InProcessService extends Service {
  #app: PublicApplication | undefined;
  readonly #metrics: Metrics;

  constructor(
    private readonly configuration: Configuration,
    private readonly files: OperatorFiles,
    repository: PlantRepository,
    private readonly log: StructuredLogger,
  ) {
    super(repository);
    this.#metrics = new Metrics(readVersion(), {
      queueDepth: () => this.#app?.get(GroupCommit, { strict: false }).depth,
      certificateExpiry: () => files.certificate?.expires,
      tokenExpiry: () => files.tokens.nextExpiry(),
      tokenFileRead: () => files.tokenFileRead,
    });
    // If this process is a worker, its primary asks for the metrics.
    shareMetrics(this.#metrics.registry);
  }

  override async listen(docsPort: number | 'off'): Promise<Address> {
    const { host, port, logRequests } = this.configuration;
    const app = await this.#createApplication(docsPort);
    this.#app = app;
    this.log.logRequests(logRequests);
    await app.listen({ port, host, backlog: BACKLOG }).catch((error: unknown) => {
      throw explainListenError('HOST and PORT', host, port, error);
    });
    this.files.certificate?.watch((certificate) => (app.getHttpServer() as Server).setSecureContext(certificate));
    return app.getHttpServer().address() as AddressInfo;
  }

  override reload(): void {
    this.files.reload();
  }

  override metrics(): Promise<string> {
    return this.#metrics.registry.metrics();
  }

  override async close(): Promise<void> {
    if (this.#app !== undefined) await closeApplication(this.#app);
  }

  async #createApplication(docsPort: number | 'off'): Promise<PublicApplication> {
    const { configuration } = this;
    return createApplication({
      basePath: configuration.basePath,
      plants: {
        repository: this.repository,
        authentication: { verifier: await createVerifier(this.files.tokens, configuration) },
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
        origins: new Set([...configuration.corsOrigins, ...docsOrigins(configuration.managementHost, docsPort)]),
        certificate: this.files.certificate?.current,
      },
      logger: this.log,
    });
  }
}

/** Accepts static tokens and, if an issuer is configured, its JWTs. */
async function createVerifier(tokens: TokenVerifier, configuration: Configuration): Promise<TokenVerifier> {
  const { jwtIssuer: issuer, jwtAudience: audience, jwtJwksUrl, jwtType: type } = configuration;
  if (issuer === undefined || audience === undefined) return tokens;
  const { JwtVerifier } = await import('../auth/jwt-verifier.js');
  const jwksUrl = jwtJwksUrl === undefined ? undefined : new URL(jwtJwksUrl);
  return new FirstKnownVerifier([tokens, new JwtVerifier({ issuer, audience, jwksUrl, type })]);
}
