import 'reflect-metadata';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { Logger } from '@nestjs/common';
import { FileTokens } from '../auth/file-tokens.js';
import { isLoopbackHost } from '../auth/jwt-settings.js';
import { digestToken, generateToken, numberTokens, StaticTokens } from '../auth/static-tokens.js';
import { addToken } from '../auth/token-file.js';
import { type Configuration, isJournal } from '../config/configuration.js';
import { readVersion } from '../config/version.js';
import { createEmptyFile } from '../files/create-empty-file.js';
import { watchFiles } from '../files/watch-files.js';
import { CertificateError, certificateExpiry, isSameCertificate, readCertificate } from '../http/certificate.js';
import { StructuredLogger } from '../logging/structured-logger.js';
import type { ManagementListener } from '../management/management-listener.js';
import { isPostgresUrl } from '../storage/postgres-engine.js';
import type { PlantRepository } from '../storage/plant-repository.js';
import { EXIT_STATUS } from './exit-status.js';
import { listen } from './listen.js';
import { createServiceInProcess, type PublicService } from './public-service.js';
import { loadCertificate, nameTokenVariable } from './start-files.js';
import { exitStopped, onStopSignals } from './stop-signals.js';

/** The default store, relative to the working directory. */
const DEFAULT_SQLITE_FILE = 'data/plants.db';

/** The name of the token that the first start creates. */
const FIRST_TOKEN_NAME = 'first-start';

const logger = new Logger('PlantStore');

/**
 * Starts the standalone service, which runs until a signal stops the process.
 *
 * @throws {CommandError | ConfigurationError | ListenError | RepositoryStartError | TokenFileError} with a message for the
 *   operator; any other error is a defect
 */
export async function startService(configuration: Configuration): Promise<void> {
  const hasWorkers = configuration.workers > 1;
  const structuredLogger = await StructuredLogger.create(configuration.logLevel, { isShared: hasWorkers });
  const tokens = await openTokens(configuration);
  const certificate = loadCertificate(configuration);
  const createService = hasWorkers
    ? (await import('./worker-pool.js')).createServiceWithWorkers
    : createServiceInProcess;
  const service = await createService(configuration, tokens, certificate, structuredLogger);
  let management: ManagementListener | undefined;
  try {
    management = await createManagement(service, tokens, configuration);
    await warnOfForgottenStore(service.repository, configuration);
    const baseUrl = await service.listen();
    const managementOrigins = await listenForOperators(management, baseUrl, configuration);
    // The docs page of the management listener creates plants on the public port.
    service.allowOrigins(managementOrigins);
    // Install the handlers before logging that the service is up: a supervisor may signal at once.
    stopOnSignals(service, management, configuration.shutdownTimeout);
    const firstToken = await createFirstToken(tokens, configuration);
    process.on('SIGHUP', () => void (tokens instanceof FileTokens && tokens.reload()));
    logger.log(`Plant Store ${readVersion()} on Node.js ${process.versions.node}; settings: ${configuration.summary}`);
    const [managementUrl] = managementOrigins;
    if (managementUrl !== undefined) logger.log(`Management: ${managementUrl}`);
    logger.log(`Listening: POST ${baseUrl}/plants`);
    if (certificate !== undefined) reloadCertificate(service, configuration);
    else warnOfClearText(configuration);
    // Printed last, so that a newcomer sees it at the end of the output.
    await structuredLogger.flush();
    if (firstToken !== undefined) printFirstToken(firstToken, `${baseUrl}/plants`, configuration);
    else if (lacksTokens(configuration)) printTokenCommand(configuration);
  } catch (error) {
    // An error of closing must not hide this one.
    await Promise.allSettled([service.close(), management?.close()]);
    throw error;
  }
}

/** Opens the tokens of ACCESS_TOKENS and of ACCESS_TOKENS_FILE or, without either, of the file of the first start. */
async function openTokens(configuration: Configuration): Promise<StaticTokens> {
  const { accessTokens, accessTokensFile, firstTokenFile } = configuration;
  const configured = numberTokens(accessTokens);
  if (accessTokensFile === undefined && configured.length > 0) return new StaticTokens(configured);
  const mayBeMissing = accessTokensFile === undefined;
  const tokens = new FileTokens(accessTokensFile ?? firstTokenFile, { configured, mayBeMissing });
  try {
    await tokens.onModuleInit();
  } catch (error) {
    throw nameTokenVariable(error, configuration);
  }
  return tokens;
}

/**
 * Creates a token if none is configured.
 *
 * @returns the token; undefined if there is one already
 * @throws {TokenFileError} if its file cannot be used
 */
async function createFirstToken(tokens: StaticTokens, configuration: Configuration): Promise<string | undefined> {
  // The journal would keep the token.
  if (!(tokens instanceof FileTokens) || !lacksTokens(configuration) || isJournal()) return undefined;
  // Another process may create it at the same time.
  if (!createEmptyFile(configuration.firstTokenFile)) return undefined;
  const token = generateToken();
  await addToken(configuration.firstTokenFile, { name: FIRST_TOKEN_NAME, digest: digestToken(token) });
  await tokens.onModuleInit();
  return token;
}

/** Warns an operator who changed DATABASE_URL and did not copy the plants: clients could now give their ids to others. */
async function warnOfForgottenStore(repository: PlantRepository, { databaseUrl }: Configuration): Promise<void> {
  if (!isPostgresUrl(databaseUrl) || !existsSync(DEFAULT_SQLITE_FILE)) return;
  const snapshot = await repository.snapshot();
  try {
    if ((await snapshot.pages()[Symbol.asyncIterator]().next()).done !== true) return;
  } finally {
    await snapshot.close();
  }
  logger.warn(
    'The PostgreSQL database is empty, but data/plants.db exists: to move its plants, stop the service and run DATABASE_URL=sqlite:data/plants.db plant-store copy --to URL',
  );
}

async function createManagement(
  service: PublicService,
  tokens: StaticTokens,
  { managementHost, managementPort, managementAllowedHosts }: Configuration,
): Promise<ManagementListener | undefined> {
  if (managementPort === 'off') return undefined;
  const { ManagementListener } = await import('../management/management-listener.js');
  const { repository, queue, workers } = service;
  const expiries = {
    certificate: () => service.certificate && certificateExpiry(service.certificate),
    token: () => tokens.nextExpiry(),
  };
  return ManagementListener.create(
    { repository, queue, workers, expiries, version: readVersion() },
    { host: managementHost, port: managementPort, allowedHosts: managementAllowedHosts },
  );
}

/** @returns the origins of the management listener; none if it is off */
async function listenForOperators(
  management: ManagementListener | undefined,
  baseUrl: string,
  { managementHost, managementPort }: Configuration,
): Promise<readonly string[]> {
  if (management === undefined) return [];
  const address = `${managementHost}:${managementPort}`;
  return listen('MANAGEMENT_HOST and MANAGEMENT_PORT', address, () => management.listen(baseUrl));
}

/** At the first signal, stops after requests in flight are answered; at the second one, stops at once. */
function stopOnSignals(service: PublicService, management: ManagementListener | undefined, timeout: number): void {
  const stopNow = (): void => void service.abort().finally(() => process.exit());
  const stop = (): void => {
    onStopSignals(stopNow, stopAfterSignal);
    setTimeout(() => {
      logger.warn('Stopped after SHUTDOWN_TIMEOUT: requests in flight have no answer');
      stopNow();
    }, timeout).unref();
    // A load balancer learns of the shutdown while requests are still answered.
    management?.reportShutdown();
    service
      .close()
      .finally(() => management?.close())
      .then(() => logger.log('Stopped'))
      .catch((error: unknown) => {
        logger.error(`The service could not close in order: ${String(error)}`);
        process.exit(EXIT_STATUS.failed);
      });
  };
  const stopAfterSignal = (signal: NodeJS.Signals): void => {
    logger.log(`Stopping after ${signal}`);
    stop();
  };
  onStopSignals(stopAfterSignal, exitStopped);
  void service.failure.then((reason) => {
    logger.fatal(`The service ends, because its workers cannot start: ${reason}`);
    process.exitCode = EXIT_STATUS.failed;
    stop();
  });
}

function lacksTokens({ accessTokens, accessTokensFile, firstTokenFile, jwtIssuer }: Configuration): boolean {
  const isConfigured = accessTokens.length > 0 || (accessTokensFile ?? jwtIssuer) !== undefined;
  return !isConfigured && !existsSync(firstTokenFile);
}

/** Warns if the tokens of clients travel in clear text. */
function warnOfClearText({ host, trustProxy }: Configuration): void {
  if (trustProxy.length > 0 || isLoopbackHost(host)) return;
  logger.warn('Tokens travel in clear text: set TLS_CERT_FILE and TLS_KEY_FILE, or TRUST_PROXY for a proxy with TLS');
}

/** Uses a changed certificate for new connections. */
function reloadCertificate(service: PublicService, { tlsCertFile = '', tlsKeyFile = '' }: Configuration): void {
  watchFiles([tlsCertFile, tlsKeyFile], () => {
    try {
      const read = readCertificate(tlsCertFile, tlsKeyFile);
      if (service.certificate !== undefined && isSameCertificate(read, service.certificate)) return;
      service.setCertificate(read);
      logger.log(`The certificate has changed: the new one is valid until ${certificateExpiry(read).toISOString()}`);
    } catch (error) {
      if (error instanceof CertificateError) logger.error(`${error.message}; keeping the previous certificate`);
      else logger.error(`The certificate could not be reloaded: ${String(error)}`);
    }
  });
}

/** Prints the first token to stderr and not to the log, which is kept. */
function printFirstToken(token: string, url: string, { firstTokenFile }: Configuration): void {
  process.stderr.write(`
No token is configured, so the service has created one. It is shown only once; ${firstTokenFile} keeps its digest.
Create a plant with it:

curl -i ${url} \\
  -H 'Authorization: Bearer ${token}' \\
  -H 'Content-Type: application/json' \\
  -d '{"id": 1, "name": "Monstera", "tag": "indoor"}'

`);
}

/** Prints the command that creates a token. */
function printTokenCommand({ firstTokenFile }: Configuration): void {
  const program = [process.execPath, process.argv[1] ?? ''].join(' ');
  process.stderr.write(`
No token is configured, and the journal would keep one that is shown here. To create one, run:

${program} token create --name first --file ${resolve(firstTokenFile)}

`);
}
