import 'reflect-metadata';
import cluster, { type Worker } from 'node:cluster';
import { setTimeout as wait } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { Configuration } from '../config/configuration.js';
import { isLoopbackHost } from '../loopback-host.js';
import { EXIT_STATUS } from '../operator-error.js';
import { StructuredLogger } from '../logging/structured-logger.js';
import type { Management } from '../management/management-listener.js';
import { answerPrimary } from '../management/primary-metrics.js';
import { openRepository } from '../storage/engines.js';
import type { PlantRepository } from '../storage/plant-repository.js';
import { baseUrlOf, managementUrlOf } from './addresses.js';
import { ClusterService } from './cluster-service.js';
import { createFirstToken } from './first-token.js';
import { InProcessService } from './in-process-service.js';
import { explainListenError } from './listen-error.js';
import { OperatorFiles } from './operator-files.js';
import type { Service } from './service.js';
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
  // With WORKERS=1, the process may be a worker of another cluster manager.
  const worker = configuration.workers > 1 ? cluster.worker : undefined;
  if (worker === undefined) await startPrimary(configuration);
  else await startWorker(worker, configuration);
}

/** Starts the process that its operator sees, which serves the clients itself, or is the primary of workers that do. */
async function startPrimary(configuration: Configuration): Promise<void> {
  const { log, files, repository } = await openParts(configuration);
  const service =
    configuration.workers > 1
      ? new ClusterService(configuration, files, repository)
      : new InProcessService(configuration, files, repository, log);
  // Opened after the store, and before the public port, so that probes see that the service starts.
  const management = await listenForOperators(service, configuration);
  const address = await service.listen(management?.port ?? 'off');
  const baseUrl = baseUrlOf(configuration, address);
  service.beginServing(baseUrl);
  // Set at once, because systemd may stop the service as soon as it serves.
  onSignals({
    stop: (signal) => stopPrimary(signal, { service, management, log }, configuration.shutdownTimeout),
    reload: () => reloadPrimary(service),
  });
  await service.startOtherWorkers();
  if (service.isStopping) return;
  // Created once the service listens: a start that fails must leave no token.
  const notice = createFirstToken(configuration, `${baseUrl}/plants`);
  // Loaded before it is shown, because a client may use it at once. Workers load it within a second.
  if (notice !== undefined) service.reload();
  logStart(configuration, baseUrl, management);
  if (notice === undefined) return;
  // Shown after the log, so that a newcomer finds it at the end of the output. The reader of the log may have stopped.
  await Promise.race([log.flush(), wait(LOG_TIMEOUT, undefined, { ref: false })]);
  process.stderr.write(notice);
}

/** Starts a worker. Its primary has the management listener, logs the start, and ends it if it takes too long to stop. */
async function startWorker(worker: Worker, configuration: Configuration): Promise<void> {
  answerPrimary();
  // Node ends a worker whose primary has ended, unless the worker is about to send it something.
  worker.on('error', ({ message }: Error) => {
    process.stderr.write(`plant-store: the worker cannot reach its primary: ${message}\n`);
    process.exit(EXIT_STATUS.failed);
  });
  const { log, files, repository } = await openParts(configuration, worker.id);
  const service = new InProcessService(configuration, files, repository, log);
  const address = await service.listen(configuration.managementPort);
  service.beginServing(baseUrlOf(configuration, address));
  onSignals({
    stop: (signal) => stopWorker(signal, { service, log }),
    reload: () => {
      // The primary logs the signals of an operator.
      if (!service.isStopping) service.reload();
    },
  });
}

/** The parts that each process opens before it serves. */
interface OpenedParts {
  readonly log: StructuredLogger;
  readonly files: OperatorFiles;
  readonly repository: PlantRepository;
}

async function openParts(configuration: Configuration, workerId?: number): Promise<OpenedParts> {
  const log = await StructuredLogger.create(configuration.logLevel, {
    isShared: configuration.workers > 1,
    worker: workerId,
  });
  Logger.overrideLogger(log);
  // Read before the store is opened, and perhaps created: a faulty file must leave no new store.
  const files = new OperatorFiles(configuration);
  const repository = await openRepository(configuration.databaseUrl, {
    ...configuration.store,
    createsDirectory: true,
    onWait: (reason) => logger.warn(`The start waits for the database: ${reason}`),
  });
  return { log, files, repository };
}

async function listenForOperators(service: Service, configuration: Configuration): Promise<Management | undefined> {
  const { managementHost: host, managementPort: port, managementAllowedHosts: allowedHosts } = configuration;
  if (port === 'off') return undefined;
  const { startManagement } = await import('../management/management-listener.js');
  return startManagement(service, { host, port, allowedHosts }).catch((error: unknown) => {
    throw explainListenError('MANAGEMENT_HOST and MANAGEMENT_PORT', host, port, error);
  });
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

function reloadPrimary(service: Service): void {
  if (service.isStopping) return;
  logger.log('Reloading after SIGHUP');
  service.reload();
}

/** The parts of a process that a stop closes, in this order. */
interface RunningParts {
  readonly service: Service;
  /** Tells load balancers of the stop while requests are still answered. Workers have no management listener. */
  readonly management?: Management | undefined;
  readonly log: StructuredLogger;
}

/**
 * Stops the process that its operator sees: in order at the first signal, and at once at the next signal or after the
 * timeout.
 *
 * @param timeout milliseconds
 */
function stopPrimary(signal: NodeJS.Signals, parts: RunningParts, timeout: number): void {
  if (parts.service.isStopping) process.exit();
  setTimeout(() => {
    logger.warn('Stopped after SHUTDOWN_TIMEOUT: requests in flight may have no answer');
    process.exit();
  }, timeout);
  void stopInOrder(signal, parts);
}

/** Stops a worker in order, only once: a signal to the process group reaches it twice. Its primary ends it in time. */
function stopWorker(signal: NodeJS.Signals, parts: RunningParts): void {
  if (!parts.service.isStopping) void stopInOrder(signal, parts);
}

/** Ends the process when the requests in flight are answered, the store is closed, and the log is written. */
async function stopInOrder(signal: NodeJS.Signals, { service, management, log }: RunningParts): Promise<void> {
  service.beginStop();
  logger.log(`Stopping after ${signal}`);
  try {
    await service.close();
    await management?.application.close();
    logger.log('Stopped');
  } catch (error) {
    logger.error(`The service could not close in order: ${String(error)}`);
    process.exitCode = EXIT_STATUS.failed;
  }
  await log.flush();
  // If Node ended by itself, it would remove its handlers of signals first, and a late signal would kill the process.
  process.exit();
}
