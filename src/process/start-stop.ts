import 'reflect-metadata';
import { setTimeout as wait } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { Configuration } from '../config/configuration.js';
import { isEnvFileExposed, removedSettings } from '../config/warnings.js';
import { isLoopbackHost } from '../loopback-host.js';
import { EXIT_STATUS } from '../operator-error.js';
import { ServiceLogger } from '../logging/service-logger.js';
import type { Management } from '../management/management.module.js';
import { openRepository } from '../storage/engines.js';
import { managementUrlOf } from './addresses.js';
import { createFirstToken } from './first-token.js';
import { explainListenError } from './listen-error.js';
import { OperatorFiles } from './operator-files.js';
import { Service } from './service.js';
import { onSignals } from './signals.js';
import { readVersion } from './version.js';

const logger = new Logger('PlantStore');

/** Milliseconds that the first token waits for the reader of the log. */
const LOG_TIMEOUT = 1_000;

/**
 * Starts the service, which runs until a signal stops the process.
 *
 * @throws {OperatorError} with a message for the operator; any other error is a defect
 */
export async function startService(configuration: Configuration): Promise<void> {
  const log = new ServiceLogger(configuration.logLevel);
  Logger.overrideLogger(log);
  warnOfSettings();
  // Read before the store is opened, and perhaps created: a faulty file must leave no new store.
  const files = new OperatorFiles(configuration);
  const repository = await openRepository(configuration.databaseUrl, {
    ...configuration.store,
    createsDirectory: true,
    onWait: (reason) => logger.warn(`The start waits for the database: ${reason}`),
  });
  const service = new Service(configuration, files, repository, log);
  const baseUrl = await service.listen();
  const opening = listenForOperators(service, configuration, baseUrl);
  // Set at once, because systemd may stop the service as soon as it serves.
  onSignals({
    stop: (signal) => stopService(signal, { service, management: opening, log }, configuration.shutdownTimeout),
    reload: () => {
      if (service.isStopping) return;
      logger.log('Reloading after SIGHUP');
      files.reload();
    },
  });
  const management = await opening;
  if (service.isStopping) return;
  // Created once the service listens: a start that fails must leave no token.
  const notice = createFirstToken(configuration, `${baseUrl}/plants`);
  // Loaded before it is shown, because a client may use it at once.
  if (notice !== undefined) files.reload();
  logStart(configuration, baseUrl, management);
  if (notice === undefined) return;
  // Shown after the log, so that a newcomer finds it at the end of the output. The reader of the log may have stopped.
  await Promise.race([log.flush(), wait(LOG_TIMEOUT, undefined, { ref: false })]);
  process.stderr.write(notice);
}

function warnOfSettings(): void {
  for (const { name, advice } of removedSettings()) logger.warn(`${name} has no effect any more: ${advice}`);
  if (isEnvFileExposed()) logger.warn('Other users can read the secrets in .env: chmod 600 .env');
}

async function listenForOperators(
  service: Service,
  { managementHost: host, managementPort: port }: Configuration,
  baseUrl: string,
): Promise<Management | undefined> {
  if (port === 'off') return undefined;
  const { startManagement } = await import('../management/management.module.js');
  const management = await startManagement(service, { host, port, baseUrl }).catch((error: unknown) => {
    throw explainListenError('MANAGEMENT_HOST and MANAGEMENT_PORT', host, port, error);
  });
  service.allowDocs(management.port);
  return management;
}

function logStart(configuration: Configuration, baseUrl: string, management: Management | undefined): void {
  const { name } = configuration.databaseUrl;
  logger.log(`Plant Store ${readVersion()} on Node.js ${process.versions.node}; database: ${name}`);
  if (management !== undefined) {
    logger.log(`Management: ${managementUrlOf(configuration.managementHost, management.port)}`);
  }
  logger.log(`Listening: POST ${baseUrl}/plants`);
  warnOfClearText(configuration);
}

function warnOfClearText({ host, tlsCertFile, trustProxy }: Configuration): void {
  if (tlsCertFile !== undefined || trustProxy.length > 0 || isLoopbackHost(host)) return;
  logger.warn('Tokens travel in clear text: set TLS_CERT_FILE and TLS_KEY_FILE, or TRUST_PROXY for a proxy with TLS');
}

/** The parts that a stop closes, in this order. */
interface RunningParts {
  readonly service: Service;
  /** Tells load balancers of the stop while requests are still answered. */
  readonly management: Promise<Management | undefined>;
  readonly log: ServiceLogger;
}

/**
 * Stops the service: in order at the first signal, and at once at the next signal or after the timeout.
 *
 * @param timeout milliseconds
 */
function stopService(signal: NodeJS.Signals, parts: RunningParts, timeout: number): void {
  if (parts.service.isStopping) process.exit();
  setTimeout(() => {
    logger.warn('Stopped after SHUTDOWN_TIMEOUT: requests in flight may have no answer');
    process.exit();
  }, timeout);
  void stopInOrder(signal, parts);
}

/** Ends the process when the requests in flight are answered, the store is closed, and the log is written. */
async function stopInOrder(signal: NodeJS.Signals, { service, management, log }: RunningParts): Promise<void> {
  service.isStopping = true;
  logger.log(`Stopping after ${signal}`);
  try {
    await service.close();
    await (await management)?.application.close();
    logger.log('Stopped');
  } catch (error) {
    logger.error(`The service could not close in order: ${String(error)}`);
    process.exitCode = EXIT_STATUS.failed;
  }
  await log.flush();
  // If Node ended by itself, it would remove its handlers of signals first, and a late signal would kill the process.
  process.exit();
}
