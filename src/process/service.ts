import 'reflect-metadata';
import { type INestApplication, Logger } from '@nestjs/common';
import { isLoopbackHost } from '../auth/jwt-settings.js';
import type { Configuration } from '../config/configuration.js';
import { readVersion } from '../config/version.js';
import { StructuredLogger } from '../logging/structured-logger.js';
import { ManagedService } from '../management/managed-service.js';
import { EXIT_STATUS } from './exit-status.js';
import { createFirstToken, printFirstToken } from './first-token.js';
import { listen } from './listen.js';
import { InProcessService, type PublicService } from './public-service.js';
import { openParts, type ServiceParts } from './service-parts.js';
import { exitStopped, replaceStopListener } from './stop-signals.js';

const logger = new Logger('PlantStore');

/**
 * Starts the standalone service, which runs until a signal stops the process.
 *
 * @throws {CommandError | ConfigurationError | ListenError | RepositoryStartError | TokenFileError} with a message for the
 *   operator; any other error is a defect
 */
export async function startService(configuration: Configuration): Promise<void> {
  const hasWorkers = configuration.workers > 1;
  const structuredLogger = await StructuredLogger.create(configuration.logLevel, { isShared: hasWorkers });
  Logger.overrideLogger(structuredLogger);
  const parts = await openParts(configuration, structuredLogger);
  await new StandaloneService(configuration, parts, structuredLogger).start();
}

/** The service in the order of time: it listens, announces itself, and stops. */
class StandaloneService extends ManagedService {
  override baseUrl: string | undefined;
  #management: INestApplication | undefined;
  #public: PublicService | undefined;
  #isShuttingDown = false;

  constructor(
    private readonly configuration: Configuration,
    private readonly parts: ServiceParts,
    private readonly structuredLogger: StructuredLogger,
  ) {
    super(parts.repository);
  }

  async start(): Promise<void> {
    try {
      const origins = await this.#listenForOperators();
      this.baseUrl = await this.#listenForClients(origins);
      // Install the handlers before logging that the service is up: a supervisor may signal at once.
      process.on('SIGHUP', () => void this.#public?.reloadTokens());
      replaceStopListener({ old: exitStopped, next: this.#stopAfterSignal });
      const firstToken = await createFirstToken(this.parts.tokens, this.configuration);
      if (firstToken !== undefined) await this.#public?.reloadTokens();
      await this.#announce(this.baseUrl, origins[0], firstToken);
    } catch (error) {
      // An error of closing must not hide this one.
      await this.#close().catch(() => undefined);
      throw error;
    }
  }

  /** @returns the origins of the docs page, which creates plants on the public port; none without the listener */
  async #listenForOperators(): Promise<readonly string[]> {
    const { managementHost: host, managementPort: port, managementAllowedHosts: allowedHosts } = this.configuration;
    if (port === 'off') return [];
    const { originsOf, startManagement } = await import('../management/management-listener.js');
    const start = (): Promise<INestApplication> => startManagement(this, { host, port, allowedHosts });
    this.#management = await listen('MANAGEMENT_HOST and MANAGEMENT_PORT', `${host}:${port}`, start);
    return originsOf(this.#management, host);
  }

  /** @returns {base_url} */
  async #listenForClients(origins: readonly string[]): Promise<string> {
    const configuration = { ...this.configuration, corsOrigins: [...this.configuration.corsOrigins, ...origins] };
    if (configuration.workers > 1) {
      const { Supervisor } = await import('./supervisor.js');
      this.#public = new Supervisor(configuration, this.parts, this.#stopAfterFailure);
    } else {
      this.#public = new InProcessService(configuration, this.parts, this.structuredLogger);
    }
    return this.#public.listen();
  }

  async #announce(baseUrl: string, managementUrl: string | undefined, firstToken: string | undefined): Promise<void> {
    const { summary } = this.configuration;
    logger.log(`Plant Store ${readVersion()} on Node.js ${process.versions.node}; settings: ${summary}`);
    if (managementUrl !== undefined) logger.log(`Management: ${managementUrl}`);
    logger.log(`Listening: POST ${baseUrl}/plants`);
    if (this.parts.certificate === undefined) warnOfClearText(this.configuration);
    // Printed last, so that a newcomer sees it at the end of the output.
    await this.structuredLogger.flush();
    printFirstToken(firstToken, `${baseUrl}/plants`, this.configuration);
  }

  override get obstacle(): string | undefined {
    if (this.#isShuttingDown) return 'it is shutting down';
    return this.baseUrl === undefined ? 'it is starting' : this.#public?.obstacle;
  }

  override async metrics(): Promise<string> {
    return (await this.#public?.metrics()) ?? '';
  }

  readonly #stopAfterSignal = (signal: NodeJS.Signals): void => {
    logger.log(`Stopping after ${signal}`);
    void this.#stop();
  };

  readonly #stopAfterFailure = (reason: string): void => {
    logger.fatal(`The service ends, because its workers cannot start: ${reason}`);
    process.exitCode = EXIT_STATUS.failed;
    void this.#stop();
  };

  /** Stops after requests in flight are answered. */
  async #stop(): Promise<void> {
    replaceStopListener({ old: this.#stopAfterSignal, next: this.#stopNow });
    setTimeout(() => {
      logger.warn('Stopped after SHUTDOWN_TIMEOUT: requests in flight have no answer');
      this.#stopNow();
    }, this.configuration.shutdownTimeout).unref();
    // A load balancer learns of the shutdown while requests are still answered.
    this.#isShuttingDown = true;
    try {
      await this.#close();
      logger.log('Stopped');
    } catch (error) {
      logger.error(`The service could not close in order: ${String(error)}`);
      process.exit(EXIT_STATUS.failed);
    }
  }

  async #close(): Promise<void> {
    try {
      await (this.#public ?? this.repository).close();
    } finally {
      await this.#management?.close();
    }
  }

  readonly #stopNow = (): void => {
    this.#public?.abort();
    process.exit();
  };
}

/** Warns if the tokens of clients travel in clear text. */
function warnOfClearText({ host, trustProxy }: Configuration): void {
  if (trustProxy.length > 0 || isLoopbackHost(host)) return;
  logger.warn('Tokens travel in clear text: set TLS_CERT_FILE and TLS_KEY_FILE, or TRUST_PROXY for a proxy with TLS');
}
