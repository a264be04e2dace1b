import { Logger } from '@nestjs/common';
import type { StructuredLogger } from '../logging/structured-logger.js';
import type { Management } from '../management/management-listener.js';
import { EXIT_STATUS } from '../operator-error.js';
import type { Service } from './service.js';

const logger = new Logger('PlantStore');

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
export function stopPrimary(signal: NodeJS.Signals, parts: RunningParts, timeout: number): void {
  if (parts.service.isStopping) process.exit();
  setTimeout(() => {
    logger.warn('Stopped after SHUTDOWN_TIMEOUT: requests in flight have no answer');
    process.exit();
  }, timeout);
  void stopInOrder(signal, parts);
}

/** Stops a worker in order, only once: a signal to the process group reaches it twice. Its primary ends it in time. */
export function stopWorker(signal: NodeJS.Signals, parts: RunningParts): void {
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
