import type { Server } from 'node:https';
import { type INestApplication, Logger } from '@nestjs/common';
import { createApplication } from '../app.module.js';
import type { StaticTokens } from '../auth/static-tokens.js';
import { TokenFileVerifier } from '../auth/token-file-verifier.js';
import type { Configuration } from '../config/configuration.js';
import { findWarnings } from '../config/warnings.js';
import { ServiceLogger } from '../logging/service-logger.js';
import { isLoopbackHost } from '../loopback-host.js';
import type { ManagedService } from '../management/managed-service.js';
import type { Management } from '../management/management.module.js';
import { EXIT_STATUS, OperatorError } from '../operator-error.js';
import { openRepository } from '../storage/engines.js';
import { GroupCommit } from '../storage/group-commit.js';
import type { PlantRepository } from '../storage/plant-repository.js';
import { type CertificateFiles, openCertificate } from './certificate-files.js';
import { onSignals } from './signals.js';
import { createFirstToken, createTokenCommand, createVerifier, openTokens } from './tokens.js';
import { readVersion } from './version.js';

const logger = new Logger('PlantStore');

/** What a start opens before the application. */
interface Parts {
  readonly log: ServiceLogger;
  readonly tokens: StaticTokens;
  readonly certificate: CertificateFiles | undefined;
  readonly repository: PlantRepository;
}

/**
 * Starts the service, which runs until a signal stops the process.
 *
 * @throws {OperatorError} with a message for the operator; any other error is a defect
 */
export async function startService(configuration: Configuration): Promise<void> {
  const log = new ServiceLogger(configuration.logLevel);
  Logger.overrideLogger(log);
  for (const warning of findWarnings()) logger.warn(warning);
  // Read before the store is opened, and perhaps created: a faulty file must leave no new store.
  const tokens = openTokens(configuration);
  const certificate = openCertificate(configuration);
  const repository = await openRepository(configuration.databaseUrl, {
    ...configuration.store,
    onWait: (reason) => logger.warn(`The start waits for the database: ${reason}`),
  });
  const origins = new Set(configuration.corsOrigins);
  const app = await createApplication({
    basePath: configuration.basePath,
    plants: {
      repository,
      authentication: { verifier: await createVerifier(configuration, tokens) },
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
      origins,
      certificate: certificate?.current,
    },
    logger: log,
  });
  log.logRequests(configuration.logRequests);

  const baseUrl = await listen(app, configuration);
  certificate?.watch((renewed) => (app.getHttpServer() as Server).setSecureContext(renewed));
  const service = new Service(app, { log, tokens, certificate, repository });
  // Set at once, because systemd may stop the service as soon as it serves.
  onSignals({
    stop: (signal) => void service.stop(signal, configuration.shutdownTimeout),
    reload: () => {
      logger.log('Reloading after SIGHUP');
      service.reload();
    },
  });
  const managementUrl = await service.openManagement(configuration, baseUrl, origins);
  if (service.isStopping) return;

  // Created once the service listens: a start that fails must leave no token.
  const notice = createFirstToken(configuration, `${baseUrl}/plants`);
  // Loads the token before it is shown, because a client may use it at once.
  service.reload();
  logStart(service, configuration, tokens);
  if (managementUrl !== undefined) logger.log(`Management: ${managementUrl}`);
  logger.log(`Listening: POST ${baseUrl}/plants`);
  warnOfClearText(configuration);
  // Shown after the log, so that a newcomer finds it at the end of the output.
  if (notice !== undefined) process.stderr.write(notice);
}

/** Opens the public port, and returns {base_url}. */
async function listen(app: INestApplication, { host, port, basePath }: Configuration): Promise<string> {
  await app.listen(port, host).catch((error: unknown) => {
    throw explainListenError('HOST and PORT', error);
  });
  return (await app.getUrl()) + basePath;
}

/** The service while it listens. The management listener tells about it. */
class Service implements ManagedService {
  readonly version = readVersion();
  isStopping = false;
  #management: Management | undefined;

  constructor(
    private readonly app: INestApplication,
    private readonly parts: Parts,
  ) {}

  /**
   * Opens the management listener, unless it is off, and returns its URL.
   *
   * @param baseUrl {base_url}, to which the docs page sends plants
   * @param origins get those at which this machine opens the docs page
   */
  async openManagement(
    { managementHost: host, managementPort: port }: Configuration,
    baseUrl: string,
    origins: Set<string>,
  ): Promise<string | undefined> {
    if (port === 'off') return undefined;
    const { startManagement } = await import('../management/management.module.js');
    const management = await startManagement(this, { host, port, baseUrl }).catch((error: unknown) => {
      throw explainListenError('MANAGEMENT_HOST and MANAGEMENT_PORT', error);
    });
    this.#management = management;
    for (const name of ['localhost', '127.0.0.1', '[::1]', host.includes(':') ? `[${host}]` : host]) {
      // As browsers write it: without the default port, and in small letters.
      origins.add(new URL(`http://${name}:${management.port}`).origin);
    }
    return management.application.getUrl();
  }

  /** Reads the token file and the certificate now, even if the file system has not reported a change. */
  reload(): void {
    const { tokens, certificate } = this.parts;
    if (tokens instanceof TokenFileVerifier) tokens.reload();
    certificate?.reload();
  }

  /**
   * Ends the process: in order at the first signal, and at once at the next signal or after the timeout. Nothing that waits
   * may delay this: a client, a lock, or the reader of the log.
   *
   * @param timeout milliseconds
   */
  async stop(signal: NodeJS.Signals, timeout: number): Promise<void> {
    if (this.isStopping) process.exit();
    this.isStopping = true;
    setTimeout(() => {
      logger.warn('Stopped after SHUTDOWN_TIMEOUT: requests in flight may have no answer');
      process.exit();
    }, timeout);
    logger.log(`Stopping after ${signal}`);
    try {
      // Answers the requests in flight, and closes the store. Meanwhile, the management listener tells of the stop.
      await this.app.close();
      await this.#management?.application.close();
      logger.log('Stopped');
    } catch (error) {
      logger.error(`The service could not close in order: ${String(error)}`);
      process.exitCode = EXIT_STATUS.failed;
    }
    await this.parts.log.flush();
    // If Node ended by itself, it would remove its handlers of signals first, and a late signal would kill the process.
    process.exit();
  }

  get repository(): PlantRepository {
    return this.parts.repository;
  }

  queueDepth(): number {
    return this.app.get(GroupCommit, { strict: false }).depth;
  }

  certificateExpiry(): Date | undefined {
    return this.parts.certificate?.expires;
  }

  tokenExpiry(): Date | undefined {
    return this.parts.tokens.nextExpiry();
  }
}

/** Explains an error of the system that refuses an address, and names its variables. Returns other errors as they are. */
function explainListenError(variables: string, error: unknown): unknown {
  if (!('syscall' in Object(error))) return error;
  const message = `${variables}: cannot listen (${(error as Error).message}): set an address of this machine and a free port`;
  return new OperatorError(message, { cause: error });
}

function logStart(service: Service, configuration: Configuration, { count }: StaticTokens): void {
  const { databaseUrl, jwtIssuer, jwtAudience = [], tokenFile } = configuration;
  logger.log(`Plant Store ${service.version} on Node.js ${process.versions.node}; database: ${databaseUrl.name}`);
  if (jwtIssuer !== undefined) logger.log(`JWTs: ${jwtIssuer} for ${jwtAudience.join(', ')}`);
  if (tokenFile === undefined) return;
  if (count > 0) {
    logger.log(`Static tokens: ${count}; to create another one, run ${createTokenCommand(tokenFile)}`);
  } else if (jwtIssuer === undefined) {
    logger.warn(`There is no token, so every request gets error 401. Create one: ${createTokenCommand(tokenFile)}`);
  }
}

function warnOfClearText({ host, tlsCertFile, trustProxy }: Configuration): void {
  if (tlsCertFile !== undefined || trustProxy.length > 0 || isLoopbackHost(host)) return;
  logger.warn('Tokens travel in clear text: set TLS_CERT_FILE and TLS_KEY_FILE, or TRUST_PROXY for a proxy with TLS');
}
