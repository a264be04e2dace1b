import 'reflect-metadata';
import type { Configuration } from '../config/configuration.js';
import { EXIT_STATUS } from '../contract/operator-error.js';
import { StructuredLogger } from '../logging/structured-logger.js';
import type { ProcessMetrics } from '../management/worker-metrics.js';
import { describeError, type ProcessEnd } from './describe-error.js';
import { openStore, PublicService } from './public-service.js';

/** The messages to a worker; it answers `metrics` and `reload`, and `stop` ends it after its requests in flight. */
export type ToWorker =
  { readonly type: 'start'; readonly configuration: Configuration } | { readonly type: 'metrics' | 'reload' | 'stop' };

/** The messages of a worker; with `failed`, it cannot start or close, and ends. */
export type FromWorker =
  | { readonly type: 'ready' | 'reload' }
  | { readonly type: 'listening'; readonly baseUrl: string }
  | { readonly type: 'metrics'; readonly metrics: ProcessMetrics }
  | ({ readonly type: 'failed' } & ProcessEnd);

/** Serves the public port from the first message of the primary until its last one. */
export function serveForPrimary(): void {
  let service: PublicService | undefined;
  const receive = async (message: ToWorker): Promise<void> => {
    if (message.type === 'start') {
      const { configuration } = message;
      const logger = await StructuredLogger.create(configuration.logLevel);
      service = new PublicService(configuration, await openStore(configuration, logger), logger);
      send({ type: 'listening', baseUrl: await service.listen([]) });
    } else if (message.type === 'metrics') {
      send({ type: 'metrics', metrics: (await service?.metricsAsJson()) ?? [] });
    } else if (message.type === 'reload') {
      service?.reload();
      send({ type: 'reload' });
    } else {
      await service?.close();
      process.exit(EXIT_STATUS.done);
    }
  };
  process.on('message', (message: ToWorker) => {
    receive(message).catch(fail);
  });
  send({ type: 'ready' });
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
