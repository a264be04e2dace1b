import 'reflect-metadata';
import { Logger } from '@nestjs/common';
import { StaticTokens } from '../auth/static-tokens.js';
import type { Configuration } from '../config/configuration.js';
import { readVersion } from '../config/version.js';
import type { PublicApplication } from '../http/fastify-adapter.js';
import type { PublicServer } from '../http/public-server.js';
import { StructuredLogger } from '../logging/structured-logger.js';
import type { Metrics } from '../management/metrics.js';
import { sqliteFile } from '../storage/database-options.js';
import { GroupCommit } from '../storage/group-commit.js';
import { RemoteRepository } from '../storage/remote-repository.js';
import { describeError } from './describe-error.js';
import { EXIT_STATUS } from './exit-status.js';
import { createPublicApplication, listenForClients, openConfiguredStore } from './public-service.js';
import type { FromWorker, SharedState, ToWorker, WorkerStart } from './worker-process.js';

const logger = new Logger('PlantStore');

/** Serves the public port until the primary stops this process. An error goes to the primary, and ends the process. */
export async function startWorker({ configuration, state }: WorkerStart): Promise<void> {
  try {
    const { jwtJwksUrl } = configuration;
    const jwksUrl = jwtJwksUrl === undefined ? undefined : new URL(jwtJwksUrl);
    await new PublicWorker({ ...configuration, jwtJwksUrl: jwksUrl }, state).start();
  } catch (error) {
    const { text, status } = describeError(error);
    process.send?.({ type: 'failed', text, status } satisfies FromWorker, () => process.exit(status));
  }
}

/** One of the processes that serve the public port. */
class PublicWorker {
  readonly #tokens: StaticTokens;
  readonly #origins: Set<string>;
  /** The store of the primary; undefined if each worker opens the store itself. */
  readonly #remote: RemoteRepository | undefined;
  #app: PublicApplication | undefined;
  #metrics: Metrics | undefined;

  constructor(
    private readonly configuration: Configuration,
    private readonly state: SharedState,
  ) {
    this.#tokens = new StaticTokens(state.tokens);
    this.#origins = new Set(state.origins);
    if (sqliteFile(configuration.databaseUrl) === undefined) return;
    this.#remote = new RemoteRepository((plants) => send({ type: 'batch', plants }));
  }

  async start(): Promise<void> {
    const { configuration } = this;
    const structuredLogger = await StructuredLogger.create(configuration.logLevel, { isShared: true });
    this.#app = await createPublicApplication(configuration, {
      repository:
        this.#remote ?? (await openConfiguredStore(configuration, configuration.databasePoolSize, structuredLogger)),
      tokens: this.#tokens,
      certificate: this.state.certificate,
      origins: this.#origins,
      logger: structuredLogger,
    });
    structuredLogger.logRequests(configuration.logRequests);
    if (configuration.managementPort !== 'off') await this.#count(this.#app);
    process.on('message', (message: ToWorker) => this.#receive(message));
    send({ type: 'listening', baseUrl: await listenForClients(this.#app, configuration) });
  }

  async #count(app: PublicApplication): Promise<void> {
    const { Metrics } = await import('../management/metrics.js');
    this.#metrics = new Metrics(app.get(GroupCommit, { strict: false }), { version: readVersion() });
    // Batches of several workers share a commit there.
    if (this.#remote !== undefined) this.#metrics.leaveBatchesToPrimary();
  }

  #receive(message: ToWorker): void {
    if (message.type === 'result') this.#remote?.settle(message.result);
    else if (message.type === 'state') this.#use(message.state);
    else if (message.type === 'metrics') void this.#sendMetrics();
    else if (message.type === 'stop') void this.#stop();
  }

  #use({ tokens, certificate, origins }: SharedState): void {
    this.#tokens.replace(tokens);
    for (const origin of origins) this.#origins.add(origin);
    if (certificate !== undefined) (this.#app?.getHttpServer() as PublicServer).setCertificate(certificate);
  }

  async #sendMetrics(): Promise<void> {
    send({ type: 'metrics', metrics: (await this.#metrics?.registry.getMetricsAsJSON()) ?? [] });
  }

  async #stop(): Promise<void> {
    try {
      await this.#app?.close();
      process.exit(EXIT_STATUS.done);
    } catch (error) {
      logger.error(`The service could not close in order: ${String(error)}`);
      process.exit(EXIT_STATUS.failed);
    }
  }
}

function send(message: FromWorker): void {
  // If the primary has gone, this process ends.
  process.send?.(message, undefined, undefined, () => undefined);
}
