import type { Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { closeApplication, createApplication } from '../app.module.js';
import { FirstKnownVerifier } from '../auth/first-known-verifier.js';
import type { TokenVerifier } from '../auth/token-verifier.js';
import type { Configuration } from '../config/configuration.js';
import type { PublicApplication } from '../http/fastify-adapter.js';
import type { ServiceLogger } from '../logging/service-logger.js';
import type { ManagedService } from '../management/managed-service.js';
import { GroupCommit } from '../storage/group-commit.js';
import type { PlantRepository } from '../storage/plant-repository.js';
import { baseUrlOf, docsOrigins } from './addresses.js';
import { explainListenError } from './listen-error.js';
import type { OperatorFiles } from './operator-files.js';
import { readVersion } from './version.js';

/** Maximum connections that wait to be accepted. The system may allow fewer (on Linux, net.core.somaxconn). */
const BACKLOG = 4_096;

/** The application with its public port, as the management listener sees it. */
export class Service implements ManagedService {
  isStopping = false;
  readonly version = readVersion();
  /** The origins whose pages may send plants. */
  readonly #origins: Set<string>;
  #app: PublicApplication | undefined;

  constructor(
    private readonly configuration: Configuration,
    private readonly files: OperatorFiles,
    readonly repository: PlantRepository,
    private readonly log: ServiceLogger,
  ) {
    this.#origins = new Set(configuration.corsOrigins);
  }

  /**
   * Opens the public port, and returns {base_url}.
   *
   * @throws {OperatorError} with a message for the operator
   */
  async listen(): Promise<string> {
    const { host, port, logRequests } = this.configuration;
    const app = await this.#createApplication();
    this.#app = app;
    this.log.logRequests(logRequests);
    await app.listen({ port, host, backlog: BACKLOG }).catch((error: unknown) => {
      throw explainListenError('HOST and PORT', host, port, error);
    });
    const server = app.getHttpServer() as Server;
    this.files.certificate?.watch((certificate) => server.setSecureContext(certificate));
    return baseUrlOf(this.configuration, server.address() as AddressInfo);
  }

  /** Lets the docs page send plants, whose port the system may have chosen. */
  allowDocs(port: number): void {
    for (const origin of docsOrigins(this.configuration.managementHost, port)) this.#origins.add(origin);
  }

  queueDepth(): number {
    return this.#app?.get(GroupCommit, { strict: false }).depth ?? 0;
  }

  certificateExpiry(): Date | undefined {
    return this.files.certificate?.expires;
  }

  tokenExpiry(): Date | undefined {
    return this.files.tokens.nextExpiry();
  }

  /** Resolves when the requests in flight are answered and the store is closed. */
  async close(): Promise<void> {
    if (this.#app !== undefined) await closeApplication(this.#app);
  }

  async #createApplication(): Promise<PublicApplication> {
    const { configuration } = this;
    return createApplication({
      basePath: configuration.basePath,
      plants: {
        repository: this.repository,
        authentication: { verifier: await this.#createVerifier() },
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
        origins: this.#origins,
        certificate: this.files.certificate?.current,
      },
      logger: this.log,
    });
  }

  /** Accepts static tokens and, if an issuer is configured, its JWTs. */
  async #createVerifier(): Promise<TokenVerifier> {
    const { jwtIssuer: issuer, jwtAudience: audience, jwtJwksUrl, jwtType: type, jwtAllowHttp } = this.configuration;
    const { tokens } = this.files;
    if (issuer === undefined || audience === undefined) return tokens;
    const { JwtVerifier } = await import('../auth/jwt-verifier.js');
    const jwksUrl = jwtJwksUrl === undefined ? undefined : new URL(jwtJwksUrl);
    return new FirstKnownVerifier([
      tokens,
      new JwtVerifier({ issuer, audience, jwksUrl, type, allowHttp: jwtAllowHttp === 'on' }),
    ]);
  }
}
