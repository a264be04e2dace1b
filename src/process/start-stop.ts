import 'reflect-metadata';
import { setTimeout as wait } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { Configuration } from '../config/configuration.js';
import { isEnvFileExposed, removedSettings } from '../config/warnings.js';
import { ServiceLogger } from '../logging/service-logger.js';
import { isLoopbackHost } from '../loopback-host.js';
import { EXIT_STATUS } from '../operator-error.js';
import { openRepository } from '../storage/engines.js';
import { openCertificate } from './certificate-files.js';
import { createFirstToken } from './first-token.js';
import { openTokens } from './open-tokens.js';
import { Service } from './service.js';
import { onSignals } from './signals.js';

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
  for (const { name, advice } of removedSettings()) logger.warn(`${name} has no effect any more: ${advice}`);
  if (isEnvFileExposed()) logger.warn('Other users can read the secrets in .env: chmod 600 .env');
  // Read before the store is opened, and perhaps created: a faulty file must leave no new store.
  const tokens = openTokens(configuration);
  const certificate = openCertificate(configuration);
  const repository = await openRepository(configuration.databaseUrl, {
    ...configuration.store,
    createsDirectory: true,
    onWait: (reason) => logger.warn(`The start waits for the database: ${reason}`),
  });
  const service = new Service(configuration, { tokens, certificate, repository, log });
  const baseUrl = await service.listen();
  // Set at once, because systemd may stop the service as soon as it serves.
  onSignals({
    stop: (signal) => stopService(signal, service, log, configuration.shutdownTimeout),
    reload: () => {
      if (service.isStopping) return;
      logger.log('Reloading after SIGHUP');
      service.reload();
    },
  });
  const managementUrl = await service.listenForOperators(baseUrl);
  if (service.isStopping) return;
  // Created once the service listens: a start that fails must leave no token.
  const notice = createFirstToken(configuration, `${baseUrl}/plants`);
  // Loaded before it is shown, because a client may use it at once.
  if (notice !== undefined) service.reload();
  logger.log(
    `Plant Store ${service.version} on Node.js ${process.versions.node}; database: ${configuration.databaseUrl.name}`,
  );
  const { jwtIssuer, jwtAudience = [] } = configuration;
  if (jwtIssuer !== undefined) logger.log(`JWTs: ${jwtIssuer} for ${jwtAudience.join(', ')}`);
  if (managementUrl !== undefined) logger.log(`Management: ${managementUrl}`);
  logger.log(`Listening: POST ${baseUrl}/plants`);
  warnOfClearText(configuration);
  if (notice === undefined) return;
  // Shown after the log, so that a newcomer finds it at the end of the output. The reader of the log may have stopped.
  await Promise.race([log.flush(), wait(LOG_TIMEOUT, undefined, { ref: false })]);
  process.stderr.write(notice);
}

function warnOfClearText({ host, tlsCertFile, trustProxy }: Configuration): void {
  if (tlsCertFile !== undefined || trustProxy.length > 0 || isLoopbackHost(host)) return;
  logger.warn('Tokens travel in clear text: set TLS_CERT_FILE and TLS_KEY_FILE, or TRUST_PROXY for a proxy with TLS');
}

/**
 * Stops the service: in order at the first signal, and at once at the next signal or after the timeout. Nothing that waits may
 * delay this: a client, a lock, or the reader of the log.
 *
 * @param timeout milliseconds
 */
function stopService(signal: NodeJS.Signals, service: Service, log: ServiceLogger, timeout: number): void {
  if (service.isStopping) process.exit();
  service.isStopping = true;
  setTimeout(() => {
    logger.warn('Stopped after SHUTDOWN_TIMEOUT: requests in flight may have no answer');
    process.exit();
  }, timeout);
  logger.log(`Stopping after ${signal}`);
  void stopInOrder(service, log);
}

/** Ends the process when the requests in flight are answered, the store is closed, and the log is written. */
async function stopInOrder(service: Service, log: ServiceLogger): Promise<void> {
  try {
    await service.close();
    logger.log('Stopped');
  } catch (error) {
    logger.error(`The service could not close in order: ${String(error)}`);
    process.exitCode = EXIT_STATUS.failed;
  }
  await log.flush();
  // If Node ended by itself, it would remove its handlers of signals first, and a late signal would kill the process.
  process.exit();
}
