import type { Server } from 'node:https';
import { type INestApplication, Logger } from '@nestjs/common';
import { closeApplication, createApplication } from '../app.module.js';
import type { StaticTokens } from '../auth/static-tokens.js';
import { TokenFileVerifier } from '../auth/token-file-verifier.js';
import type { Configuration } from '../config/configuration.js';
import { findRemovedSettings } from '../config/load-configuration.js';
import { ServiceLogger } from '../logging/service-logger.js';
import { isLoopbackHost } from '../loopback-host.js';
import type { ManagedService } from '../management/managed-service.js';
import { EXIT_STATUS, OperatorError } from '../operator-error.js';
import { openRepository } from '../storage/engines.js';
import { GroupCommit } from '../storage/group-commit.js';
import type { PlantRepository } from '../storage/plant-repository.js';
import { type CertificateFiles, openCertificate } from './certificate-files.js';
import { onSignals } from './signals.js';
import { createFirstToken, createTokenCommand, createVerifier, openTokens } from './tokens.js';
import { readVersion } from './version.js';

const logger = new Logger('PlantStore');

/**
 * Starts the service, which runs until a signal stops the process.
 *
 * @throws {OperatorError} with a message for the operator; any other error is a defect
 */
export async function startService(configuration: Configuration): Promise<void> {
  const log = new ServiceLogger(configuration.logLevel);
  Logger.overrideLogger(log);
  for (const warning of findRemovedSettings()) logger.warn(warning);
  // Read before the store is opened, and perhaps created: a faulty file must leave no new store.
  const tokens = openTokens(configuration);
  const certificate = openCertificate(configuration);
  // Opened here and not by PlantsModule: Nest would log an error with its stack, beside our one line.
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
  });
  const service = new Service(app, repository, tokens, certificate);
  // Opened before the public port: if it cannot be opened, the process ends, and must not cut off clients of that port.
  const managementUrl = await openManagement(service, configuration);
  if (managementUrl !== undefined) {
    for (const origin of originsOfDocs(managementUrl, configuration)) origins.add(origin);
  }
  const baseUrl = await listen(app, configuration);
  service.baseUrl = baseUrl;
  // Set at once, because systemd may stop the service as soon as it serves.
  onSignals({
    stop: (signal) => void service.stop(signal, configuration.shutdownTimeout),
    reload: () => {
      logger.log('Reloading after SIGHUP');
      service.reload();
    },
  });
  log.beginService(configuration.logRequests);
  certificate?.watch((renewed) => (app.getHttpServer() as Server).setSecureContext(renewed));

  // Created once the service listens: a start that fails must leave no token.
  const notice = createFirstToken(configuration, `${baseUrl}/plants`);
  // Loads the token before it is shown, because a client may use it at once.
  service.reload();
  logStart(configuration, tokens);
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

/** Opens the management listener, unless it is off, and returns its URL. */
async function openManagement(
  service: ManagedService,
  { managementHost: host, managementPort: port }: Configuration,
): Promise<string | undefined> {
  if (port === 'off') return undefined;
  const { startManagement } = await import('../management/management.module.js');
  return startManagement(service, { host, port }).catch((error: unknown) => {
    throw explainListenError('MANAGEMENT_HOST and MANAGEMENT_PORT', error);
  });
}

/** Returns the origins at which this machine opens the docs page, which sends plants to the public port. */
function originsOfDocs(managementUrl: string, { managementHost: host }: Configuration): string[] {
  const { port } = new URL(managementUrl);
  const names = ['localhost', '127.0.0.1', '[::1]', host.includes(':') ? `[${host}]` : host];
  // As browsers write it: without the default port, and in small letters.
  return names.map((name) => new URL(`http://${name}:${port}`).origin);
}

/**
 * Explains an error of the system that refuses an address, and names its variables. Returns other errors as they are.
 */
function explainListenError(variables: string, error: unknown): unknown {
  if (!('syscall' in Object(error))) return error;
  const message = `${variables}: cannot listen (${(error as Error).message}): set an address of this machine and a free port`;
  return new OperatorError(message, { cause: error });
}

function logStart(configuration: Configuration, { count }: StaticTokens): void {
  const { databaseUrl, jwtIssuer, jwtAudience = [], tokenFile } = configuration;
  logger.log(`Plant Store ${readVersion()} on Node.js ${process.versions.node}; database: ${databaseUrl.name}`);
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

/** The service, from before it listens until the process ends. */
class Service implements ManagedService {
  readonly version = readVersion();
  readonly groupCommit: GroupCommit;
  baseUrl: string | undefined;
  /** True while the service answers its last requests and closes the store. */
  #isStopping = false;

  constructor(
    private readonly app: INestApplication,
    private readonly repository: PlantRepository,
    readonly tokens: StaticTokens,
    readonly certificate: CertificateFiles | undefined,
  ) {
    this.groupCommit = app.get(GroupCommit, { strict: false });
  }

  async assertReady(): Promise<void> {
    if (this.baseUrl === undefined) throw new Error('it is starting');
    if (this.#isStopping) throw new Error('it is shutting down');
    await this.repository.check?.();
  }

  /** Reads the token file and the certificate now, even if the file system has not reported a change. */
  reload(): void {
    if (this.tokens instanceof TokenFileVerifier) this.tokens.reload();
    this.certificate?.reload();
  }

  /**
   * Ends the process: in order at the first signal, and at once at the next signal or after the timeout. Nothing that
   * waits may delay this: a client, a lock, or the reader of the log.
   *
   * @param timeout milliseconds
   */
  async stop(signal: NodeJS.Signals, timeout: number): Promise<void> {
    if (this.#isStopping) process.exit();
    this.#isStopping = true;
    setTimeout(() => {
      logger.warn('Stopped after SHUTDOWN_TIMEOUT: requests in flight may have no answer');
      process.exit();
    }, timeout);
    logger.log(`Stopping after ${signal}`);
    try {
      // The management listener tells of the stop until the end.
      await closeApplication(this.app);
      logger.log('Stopped');
    } catch (error) {
      logger.error(`The service could not close in order: ${String(error)}`);
      process.exitCode = EXIT_STATUS.failed;
    }
    // Exits when the log is written. If Node ended by itself, it would remove its handlers of signals first, and a late
    // signal would kill the process.
    process.stdout.write('', () => process.exit());
  }
}
