import 'reflect-metadata';
import { Logger } from '@nestjs/common';
import { isLoopbackHost } from '../auth/jwt-settings.js';
import type { Configuration } from '../config/configuration.js';
import { readVersion } from '../config/version.js';
import { EXIT_STATUS } from '../contract/operator-error.js';
import { StructuredLogger } from '../logging/structured-logger.js';
import type { Management } from '../management/management-listener.js';
import { databaseName } from '../storage/engines.js';
import { addressError } from './describe-error.js';
import { createFirstToken } from './first-token.js';
import { openStore, PublicService } from './public-service.js';
import { onStopSignals } from './stop-signals.js';
import { Supervisor } from './supervisor.js';

const logger = new Logger('PlantStore');

/** Serves the public port: in this process, or with workers. */
type Service = PublicService | Supervisor;

/**
 * Starts the service, which runs until a signal stops the process. It opens the store, listens for its operators and
 * then for its clients, and announces itself.
 *
 * @throws {OperatorError | OperatorError | OperatorError | OperatorError} with a message for the operator;
 *   any other error is a defect
 */
export async function startService(configuration: Configuration): Promise<void> {
  const structuredLogger = await StructuredLogger.create(configuration.logLevel);
  Logger.overrideLogger(structuredLogger);
  const repository = await openStore(configuration, structuredLogger);

  const service: Service =
    configuration.workers > 1
      ? new Supervisor(configuration, repository, () => void stop())
      : new PublicService(configuration, repository, structuredLogger);
  const management = await listenForOperators(service, configuration);
  let announced = Promise.resolve();
  const stop = async (): Promise<void> => {
    onStopSignals(() => process.exit());
    // Everything that a stop waits for is below this deadline.
    setTimeout(() => {
      logger.warn('Stopped after SHUTDOWN_TIMEOUT: requests in flight have no answer');
      process.exit();
    }, configuration.shutdownTimeout);
    // Otherwise a first token could be lost.
    await announced;
    await stopService(service, management);
    await structuredLogger.flush();
    // Without it, Node would let go of the signals first, and one that comes late would end the process.
    process.exit();
  };
  const baseUrl = await service.listen(management?.origins ?? []);

  // Before the log says that the service is up: systemd, for example, may send a signal at once.
  onStopSignals((signal) => {
    logger.log(`Stopping after ${signal}`);
    void stop();
  });
  process.on('SIGHUP', () => {
    logger.log('Reloading after SIGHUP');
    void service.reload();
  });
  announced = announce(baseUrl, service, management, configuration, structuredLogger);
  await announced;
}

/** Creates the first token, if none is configured, and says that the service is up. */
async function announce(
  baseUrl: string,
  service: Service,
  management: Management | undefined,
  configuration: Configuration,
  structuredLogger: StructuredLogger,
): Promise<void> {
  const firstToken = createFirstToken(configuration, `${baseUrl}/plants`);
  // Before it is shown, so that it is accepted at once.
  if (firstToken !== undefined) await service.reload();
  const database = databaseName(configuration.databaseUrl);
  logger.log(`Plant Store ${readVersion()} on Node.js ${process.versions.node}; database: ${database}`);
  if (management !== undefined) logger.log(`Management: ${management.origins[0]}`);
  logger.log(`Listening: POST ${baseUrl}/plants`);
  warnOfClearText(configuration);
  if (firstToken === undefined) return;
  // Last, so that a newcomer sees it at the end of the output.
  await structuredLogger.flush();
  process.stderr.write(firstToken);
}

async function listenForOperators(service: Service, configuration: Configuration): Promise<Management | undefined> {
  const { managementHost: host, managementPort: port, managementAllowedHosts: allowedHosts } = configuration;
  if (port === 'off') return undefined;
  const { startManagement } = await import('../management/management-listener.js');
  return startManagement(service, { host, port, allowedHosts }).catch((error: unknown) => {
    throw addressError('MANAGEMENT_HOST and MANAGEMENT_PORT', `${host}:${port}`, error);
  });
}

/** Closes the service when the requests in flight are answered, and then the listener for operators. */
async function stopService(service: Service, management: Management | undefined): Promise<void> {
  // A load balancer learns of the shutdown while requests are still answered.
  service.isStopping = true;
  try {
    await service.close();
    await management?.application.close();
    logger.log('Stopped');
  } catch (error) {
    logger.error(`The service could not close in order: ${String(error)}`);
    process.exitCode = EXIT_STATUS.failed;
  }
}

/** Warns if the tokens of clients travel in clear text. */
function warnOfClearText({ host, tlsCertFile, trustProxy }: Configuration): void {
  if (tlsCertFile !== undefined || trustProxy.length > 0 || isLoopbackHost(host)) return;
  logger.warn('Tokens travel in clear text: set TLS_CERT_FILE and TLS_KEY_FILE, or TRUST_PROXY for a proxy with TLS');
}
