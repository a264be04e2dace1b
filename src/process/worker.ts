import 'reflect-metadata';
import type { Configuration } from '../config/configuration.js';
import { StructuredLogger } from '../logging/structured-logger.js';
import { describeError } from './describe-error.js';
import { EXIT_STATUS } from './exit-status.js';
import { openStore, PublicService } from './public-service.js';
import type { FromWorker, ToWorker } from './worker-handle.js';

/** Serves the public port from the first message of the primary until its last one. */
export function serveForPrimary(): void {
  let service: PublicService | undefined;
  const receive = async (message: ToWorker): Promise<void> => {
    if (message.type === 'start') service = await start(message.configuration);
    else if (message.type === 'metrics') send({ type: 'metrics', metrics: (await service?.metricsAsJson()) ?? [] });
    else {
      await service?.close();
      process.exit(EXIT_STATUS.done);
    }
  };
  process.on('message', (message: ToWorker) => {
    receive(message).catch(fail);
  });
  send({ type: 'ready' });
}

/** Opens all that a single process opens, and listens. */
async function start(configuration: Configuration): Promise<PublicService> {
  const logger = await StructuredLogger.create(configuration.logLevel);
  const service = new PublicService(configuration, await openStore(configuration, logger), logger);
  send({ type: 'listening', baseUrl: await service.listen([]) });
  return service;
}

/** Tells the primary the error, and ends. */
function fail(error: unknown): void {
  const end = describeError(error);
  process.send?.({ type: 'failed', ...end } satisfies FromWorker, () => process.exit(end.status));
}

function send(message: FromWorker): void {
  // If the primary has gone, this process ends.
  process.send?.(message, undefined, undefined, () => undefined);
}
