import type { Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createApplication } from '../app.module.js';
import { FirstKnownVerifier } from '../auth/first-known-verifier.js';
import type { StaticTokens } from '../auth/static-tokens.js';
import { TokenFileVerifier } from '../auth/token-file-verifier.js';
import type { TokenVerifier } from '../auth/token-verifier.js';
import type { Configuration } from '../config/configuration.js';
import type { PublicApplication } from '../http/fastify-adapter.js';
import type { ServiceLogger } from '../logging/service-logger.js';
import type { ManagedService } from '../management/managed-service.js';
import type { Management } from '../management/management.module.js';
import { GroupCommit } from '../storage/group-commit.js';
import type { PlantRepository } from '../storage/plant-repository.js';
import { docsOrigins, explainListenError, originOf } from './addresses.js';
import type { CertificateFiles } from './certificate-files.js';
import { readVersion } from './version.js';

/** Maximum connections that wait to be accepted. The system may allow fewer (on Linux, net.core.somaxconn). */
const BACKLOG = 4_096;

/** The parts that a start opens before the service. */
interface OpenedParts {
  readonly tokens: StaticTokens | TokenFileVerifier;
  readonly certificate: CertificateFiles | undefined;
  readonly repository: PlantRepository;
  readonly log: ServiceLogger;
}

/** The application with its public port, and the management listener, for which this class is what it tells about. */
export class Service implements ManagedService {
  isStopping = false;
  readonly version = readVersion();
  readonly repository: PlantRepository;
  /** The origins whose pages may send plants. */
  readonly #origins: Set<string>;
  #app: PublicApplication | undefined;
  #management: Management | undefined;

  constructor(
    private readonly configuration: Configuration,
    private readonly parts: OpenedParts,
  ) {
    this.repository = parts.repository;
    this.#origins = new Set(configuration.corsOrigins);
  }

  /**
   * Opens the public port, and returns {base_url}.
   *
   * @throws {OperatorError} if the system refuses the address
   */
  async listen(): Promise<string> {
    const { host, port, basePath, logRequests } = this.configuration;
    const { certificate, log } = this.parts;
    const app = await this.#createApplication();
    this.#app = app;
    log.logRequests(logRequests);
    await app.listen({ port, host, backlog: BACKLOG }).catch((error: unknown) => {
      throw explainListenError('HOST and PORT', host, port, error);
    });
    const server = app.getHttpServer() as Server;
    certificate?.watch((renewed) => server.setSecureContext(renewed));
    const address = server.address() as AddressInfo;
    const scheme = certificate === undefined ? 'http' : 'https';
    return originOf(scheme, address.address, address.port) + basePath;
  }

  /**
   * Opens the management listener, unless it is off, and returns its URL.
   *
   * @param baseUrl {base_url}, to which the docs page sends plants
   * @throws {OperatorError} if the system refuses the address
   */
  async listenForOperators(baseUrl: string): Promise<string | undefined> {
    const { managementHost: host, managementPort: port } = this.configuration;
    if (port === 'off') return undefined;
    const { startManagement } = await import('../management/management.module.js');
    const management = await startManagement(this, { host, port, baseUrl }).catch((error: unknown) => {
      throw explainListenError('MANAGEMENT_HOST and MANAGEMENT_PORT', host, port, error);
    });
    this.#management = management;
    for (const origin of docsOrigins(host, management.port)) this.#origins.add(origin);
    return originOf('http', host, management.port);
  }

  /** Reads the token file and the certificate now, even if the file system has not reported a change. */
  reload(): void {
    const { tokens, certificate } = this.parts;
    if (tokens instanceof TokenFileVerifier) tokens.reload();
    certificate?.reload();
  }

  queueDepth(): number {
    return this.#app?.get(GroupCommit, { strict: false }).depth ?? 0;
  }

  certificateExpiry(): Date | undefined {
    return this.parts.certificate?.expires;
  }

  tokenExpiry(): Date | undefined {
    return this.parts.tokens.nextExpiry();
  }

  /**
   * Resolves when the requests in flight are answered and the store is closed. Until then, the management listener tells load
   * balancers of the stop.
   */
  async close(): Promise<void> {
    await this.#app?.close();
    await this.#management?.application.close();
  }

  async #createApplication(): Promise<PublicApplication> {
    const { configuration, parts } = this;
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
        certificate: parts.certificate?.current,
      },
      logger: parts.log,
    });
  }

  /** Accepts static tokens and, if an issuer is configured, its JWTs. */
  async #createVerifier(): Promise<TokenVerifier> {
    const { jwtIssuer: issuer, jwtAudience: audience, jwtJwksUrl, jwtType: type, jwtAllowHttp } = this.configuration;
    const { tokens } = this.parts;
    if (issuer === undefined || audience === undefined) return tokens;
    const { JwtVerifier } = await import('../auth/jwt-verifier.js');
    const jwksUrl = jwtJwksUrl === undefined ? undefined : new URL(jwtJwksUrl);
    return new FirstKnownVerifier([
      tokens,
      new JwtVerifier({ issuer, audience, jwksUrl, type, allowHttp: jwtAllowHttp === 'on' }),
    ]);
  }
}
