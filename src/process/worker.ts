import 'reflect-metadata';
import { Logger } from '@nestjs/common';
import type { Configuration } from '../config/configuration.js';
import { StructuredLogger } from '../logging/structured-logger.js';
import { describeError } from './describe-error.js';
import { EXIT_STATUS } from './exit-status.js';
import { InProcessService } from './public-service.js';
import { openParts } from './service-parts.js';
import { exitStopped } from './stop-signals.js';
import type { FromWorker, ToWorker } from './worker-handle.js';

/** Serves the public port from the first message of the primary until its last one. */
export function serveForPrimary(): void {
  let service: InProcessService | undefined;
  const receive = async (message: ToWorker): Promise<void> => {
    if (message.type === 'start') service = await start(message.configuration);
    else if (message.type === 'stop') await stop(service);
    else if (message.type === 'metrics') send({ type: 'metrics', metrics: (await service?.metricsAsJson()) ?? [] });
    else await service?.reloadTokens().then(() => send({ type: 'reload' }));
  };
  process.on('message', (message: ToWorker) => void receive(message));
  send({ type: 'ready' });
}

/** Listens. An error goes to the primary, and ends the process. */
async function start(configuration: Configuration): Promise<InProcessService | undefined> {
  try {
    // The primary logs that a file has changed.
    const quiet = ['Authentication', 'Certificate'];
    const logger = await StructuredLogger.create(configuration.logLevel, { isShared: true, quiet });
    const service = new InProcessService(configuration, await openParts(configuration, logger), logger);
    const baseUrl = await service.listen();
    send({ type: 'listening', baseUrl });
    return service;
  } catch (error) {
    const end = describeError(error);
    process.send?.({ type: 'failed', ...end } satisfies FromWorker, () => process.exit(end.status));
    return undefined;
  }
}

/** @param service undefined until it listens */
async function stop(service: InProcessService | undefined): Promise<void> {
  if (service === undefined) exitStopped();
  try {
    await service.close();
    process.exit(EXIT_STATUS.done);
  } catch (error) {
    new Logger('PlantStore').error(`The service could not close in order: ${String(error)}`);
    process.exit(EXIT_STATUS.failed);
  }
}

function send(message: FromWorker): void {
  // If the primary has gone, this process ends.
  process.send?.(message, undefined, undefined, () => undefined);
}
