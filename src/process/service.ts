import 'reflect-metadata';
import cluster from 'node:cluster';
import { Logger } from '@nestjs/common';
import type { Configuration } from '../config/configuration.js';
import { readVersion } from '../config/version.js';
import { isLoopbackHost } from '../loopback-host.js';
import { EXIT_STATUS } from '../operator-error.js';
import { StructuredLogger } from '../logging/structured-logger.js';
import { docsOrigins } from '../management/docs-origins.js';
import type { Management } from '../management/management-listener.js';
import { answerPrimary } from '../management/worker-metrics.js';
import { databaseName, openRepository } from '../storage/engines.js';
import type { PlantRepository } from '../storage/plant-repository.js';
import { addressError } from './describe-error.js';
import { createFirstToken } from './first-token.js';
import { PublicService } from './public-service.js';
import { onStopSignals } from './stop-signals.js';
import { Workers } from './workers.js';

const logger = new Logger('PlantStore');

/** Serves the public port: in this process, or with workers. */
type Service = PublicService | Workers;

/**
 * Starts the service, which runs until a signal stops the process. It opens the store, listens for its operators and
 * then for its clients, and announces itself. A worker opens the store and listens for clients.
 *
 * @throws {OperatorError} with a message for the operator; any other error is a defect
 */
export async function startService(configuration: Configuration): Promise<void> {
  // With WORKERS=1, the process may be a worker of another cluster manager.
  const worker = configuration.workers > 1 ? cluster.worker : undefined;
  if (worker !== undefined) answerPrimary();
  const log = await StructuredLogger.create(configuration.logLevel, worker?.id);
  Logger.overrideLogger(log);
  const repository = await openStore(configuration);

  const isPrimary = configuration.workers > 1 && worker === undefined;
  const service: Service = isPrimary
    ? new Workers(configuration.workers, repository)
    : new PublicService(configuration, repository, log);
  const management = worker === undefined ? await listenForOperators(service, configuration) : undefined;
  const { managementHost, managementPort } = configuration;
  const docsPort = management?.port ?? managementPort;
  const address = await service.listen(docsPort === 'off' ? [] : docsOrigins(managementHost, docsPort));
  const baseUrl = (service.baseUrl = baseUrlOf(configuration, address));

  // Before the log says that the service is up: systemd, for example, may send a signal at once.
  onStopSignals((signal) => {
    logger.log(`Stopping after ${signal}`);
    if (worker === undefined) limitStop(configuration);
    // A signal to all processes of the service reaches a worker twice. The primary ends workers that take too long.
    else onStopSignals(() => undefined);
    void stop(service, management, log);
  });
  process.on('SIGHUP', () => {
    logger.log('Reloading after SIGHUP');
    service.reload();
  });
  if (worker === undefined) announce(baseUrl, service, management, configuration, log);
}

/** Opens the store, and creates it if it does not exist. */
function openStore(configuration: Configuration): Promise<PlantRepository> {
  return openRepository(configuration.databaseUrl, {
    ...configuration.store,
    createsDirectory: true,
    onWait: (reason) => logger.warn(`The start waits for the database: ${reason}`),
  });
}

async function listenForOperators(service: Service, configuration: Configuration): Promise<Management | undefined> {
  const { managementHost: host, managementPort: port, managementAllowedHosts: allowedHosts } = configuration;
  if (port === 'off') return undefined;
  const { startManagement } = await import('../management/management-listener.js');
  return startManagement(service, { host, port, allowedHosts }).catch((error: unknown) => {
    throw addressError('MANAGEMENT_HOST and MANAGEMENT_PORT', `${host}:${port}`, error);
  });
}

/** Creates the first token, if none is configured, and says that the service is up. */
function announce(
  baseUrl: string,
  service: Service,
  management: Management | undefined,
  configuration: Configuration,
  log: StructuredLogger,
): void {
  const firstToken = createFirstToken(configuration, `${baseUrl}/plants`);
  // Before it is shown, so that it is accepted at once.
  if (firstToken !== undefined) service.reload();
  const database = databaseName(configuration.databaseUrl);
  logger.log(`Plant Store ${readVersion()} on Node.js ${process.versions.node}; database: ${database}`);
  if (management !== undefined)
    logger.log(`Management: ${docsOrigins(configuration.managementHost, management.port)[0]}`);
  logger.log(`Listening: POST ${baseUrl}/plants`);
  warnOfClearText(configuration);
  // After the lines of the log, so that a newcomer sees it at the end of the output.
  if (firstToken !== undefined) void log.flush().then(() => process.stderr.write(firstToken));
}

/** Ends the process after SHUTDOWN_TIMEOUT, or at a second signal, whatever it waits for. Workers end with it. */
function limitStop({ shutdownTimeout }: Configuration): void {
  onStopSignals(() => process.exit());
  setTimeout(() => {
    logger.warn('Stopped after SHUTDOWN_TIMEOUT: requests in flight have no answer');
    process.exit();
  }, shutdownTimeout);
}

/** Ends the process when the requests in flight are answered, the store is closed, and the log is written. */
async function stop(service: Service, management: Management | undefined, log: StructuredLogger): Promise<void> {
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
  await log.flush();
  // Without it, Node would let go of the signals first, and one that comes late would end the process.
  process.exit();
}

/** Returns {base_url} for a client on this machine. */
function baseUrlOf(
  { basePath, tlsCertFile }: Configuration,
  { address, port }: { readonly address: string; readonly port: number },
): string {
  const scheme = tlsCertFile === undefined ? 'http' : 'https';
  const host = address.replace(/^0\.0\.0\.0$/, '127.0.0.1').replace(/^::$/, '::1');
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}${basePath}`;
}

/** Warns if the tokens of clients travel in clear text. */
function warnOfClearText({ host, tlsCertFile, trustProxy }: Configuration): void {
  if (tlsCertFile !== undefined || trustProxy.length > 0 || isLoopbackHost(host)) return;
  logger.warn('Tokens travel in clear text: set TLS_CERT_FILE and TLS_KEY_FILE, or TRUST_PROXY for a proxy with TLS');
}
