import 'reflect-metadata';
import type { Server } from 'node:https';
import { Logger } from '@nestjs/common';
import { StaticTokens } from '../auth/static-tokens.js';
import type { Configuration } from '../config/configuration.js';
import { readVersion } from '../config/version.js';
import type { Certificate } from '../http/certificate.js';
import type { PublicApplication } from '../http/fastify-adapter.js';
import { StructuredLogger } from '../logging/structured-logger.js';
import type { Metrics } from '../management/metrics.js';
import { sqliteFile } from '../storage/sqlite-engine.js';
import { GroupCommit } from '../storage/group-commit.js';
import { RemoteRepository } from '../storage/remote-repository.js';
import { describeError } from './describe-error.js';
import { EXIT_STATUS } from './exit-status.js';
import { createPublicApplication, listenForClients, openConfiguredStore } from './public-service.js';
import { exitStopped } from './stop-signals.js';
import type { FromWorker, SharedState, ToWorker, WorkerStart } from './worker-process.js';

const logger = new Logger('PlantStore');

/** Serves the public port from the first message of the primary until its last one. */
export function serveForPrimary(): void {
  let worker: PublicWorker | undefined;
  process.on('message', (message: ToWorker) => {
    if (message.type === 'start') void (worker = new PublicWorker(message)).start();
    else if (worker !== undefined) worker.receive(message);
    else if (message.type === 'stop') exitStopped();
  });
  send({ type: 'ready' });
}

/** One of the processes that serve the public port. */
class PublicWorker {
  readonly #configuration: Configuration;
  /** The certificate of the start. */
  readonly #certificate: Certificate | undefined;
  readonly #tokens: StaticTokens;
  readonly #origins: Set<string>;
  /** The store of the primary; undefined if each worker opens the store itself. */
  readonly #remote: RemoteRepository | undefined;
  #app: PublicApplication | undefined;
  #metrics: Metrics | undefined;

  constructor({ configuration, state }: WorkerStart) {
    const { jwtJwksUrl } = configuration;
    this.#configuration = { ...configuration, jwtJwksUrl: jwtJwksUrl === undefined ? undefined : new URL(jwtJwksUrl) };
    this.#certificate = state.certificate;
    this.#tokens = new StaticTokens(state.tokens);
    this.#origins = new Set(state.origins);
    const isRemote = sqliteFile(configuration.databaseUrl) !== undefined;
    this.#remote = isRemote ? new RemoteRepository((plants) => send({ type: 'batch', plants })) : undefined;
  }

  /** Listens. An error goes to the primary, and ends the process. */
  async start(): Promise<void> {
    try {
      send({ type: 'listening', baseUrl: await this.#listen() });
    } catch (error) {
      const { text, status } = describeError(error);
      process.send?.({ type: 'failed', text, status } satisfies FromWorker, () => process.exit(status));
    }
  }

  /** Receives the messages after the first one. */
  receive(message: ToWorker): void {
    if (message.type === 'result') this.#remote?.settle(message.result);
    else if (message.type === 'state') this.#apply(message.state);
    else if (message.type === 'metrics') void this.#sendMetrics();
    else if (message.type === 'stop') void this.#stop();
  }

  /** @returns {base_url} */
  async #listen(): Promise<string> {
    const configuration = this.#configuration;
    const structuredLogger = await StructuredLogger.create(configuration.logLevel, { isShared: true });
    this.#app = await createPublicApplication(configuration, {
      repository: this.#remote ?? (await openConfiguredStore(configuration, structuredLogger)),
      tokens: this.#tokens,
      certificate: this.#certificate,
      origins: this.#origins,
      logger: structuredLogger,
    });
    structuredLogger.logRequests(configuration.logRequests);
    if (configuration.managementPort !== 'off') await this.#createMetrics(this.#app);
    return listenForClients(this.#app, configuration);
  }

  async #createMetrics(app: PublicApplication): Promise<void> {
    const { Metrics } = await import('../management/metrics.js');
    this.#metrics = new Metrics(app.get(GroupCommit, { strict: false }), { version: readVersion() });
    // The primary counts the batches: those of several workers share a commit.
    if (this.#remote !== undefined) this.#metrics.leaveBatchesToPrimary();
  }

  #apply({ tokens, certificate, origins }: SharedState): void {
    this.#tokens.replace(tokens);
    for (const origin of origins) this.#origins.add(origin);
    if (certificate !== undefined) (this.#app?.getHttpServer() as Server).setSecureContext(certificate);
  }

  async #sendMetrics(): Promise<void> {
    send({ type: 'metrics', metrics: (await this.#metrics?.registry.getMetricsAsJSON()) ?? [] });
  }

  async #stop(): Promise<void> {
    const server = this.#app?.getHttpServer() as Server | undefined;
    if (server?.listening !== true) exitStopped();
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
