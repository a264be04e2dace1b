import 'reflect-metadata';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { Logger, type LoggerService } from '@nestjs/common';
import { createApplication } from '../app.module.js';
import { isLoopbackHost } from '../auth/jwt-settings.js';
import { ReloadableTokens } from '../auth/reloadable-tokens.js';
import { type TokenVerifier, TokenVerifiers } from '../auth/token-verifier.js';
import { type Configuration, isJournal } from '../config/configuration.js';
import { readVersion } from '../config/version.js';
import { watchFiles } from '../files/watch-files.js';
import {
  type Certificate,
  CertificateError,
  certificateExpiry,
  isSameCertificate,
  readCertificate,
} from '../http/certificate.js';
import type { PublicApplication } from '../http/fastify-adapter.js';
import type { PublicServer } from '../http/public-server.js';
import { DEFAULT_LIMITS } from '../http/server-limits.js';
import { StructuredLogger } from '../logging/structured-logger.js';
import type { ManagementListener } from '../management/management-listener.js';
import { isPostgresUrl } from '../storage/database-options.js';
import { openRepository } from '../storage/open-repository.js';
import { PlantRepository } from '../storage/plant-repository.js';
import { listen } from './listen.js';
import { loadCertificate, nameTokenVariable } from './start-files.js';
import { exitStopped, onStopSignals } from './stop-signals.js';

/** The default store, relative to the working directory. */
const DEFAULT_SQLITE_FILE = 'data/plants.db';

/** Connections that wait to be accepted, at most; the operating system may allow fewer (on Linux, net.core.somaxconn). */
const BACKLOG = 4_096;

const logger = new Logger('PlantStore');

/**
 * Starts the standalone service, which runs until a signal stops the process.
 *
 * @throws {ConfigurationError | ListenError | RepositoryStartError | TokenFileError} with a message for the operator;
 *   any other error is a defect
 */
export async function startService(configuration: Configuration): Promise<void> {
  const structuredLogger = await StructuredLogger.create(configuration.logLevel);
  const tokens = await openTokens(configuration);
  const certificate = loadCertificate(configuration);
  const origins = new Set(configuration.corsOrigins);
  const app = await createService(configuration, tokens, certificate, origins, structuredLogger);
  structuredLogger.logRequests(configuration.logRequests);
  let management: ManagementListener | undefined;
  try {
    management = await createManagement(app, tokens, configuration);
    await warnOfForgottenStore(app.get(PlantRepository, { strict: false }), configuration);
    const baseUrl = await listenForClients(app, configuration);
    const managementOrigins = await listenForOperators(management, baseUrl, configuration);
    // The docs page of the management listener creates plants on the public port.
    for (const origin of managementOrigins) origins.add(origin);
    // Install the handlers before logging that the service is up: a supervisor may signal at once.
    stopOnSignals(app, management, configuration.shutdownTimeout);
    const firstToken = await tokens.keepFirstToken();
    reloadTokens(tokens);
    logger.log(`Plant Store ${readVersion()} on Node.js ${process.versions.node}; settings: ${configuration.summary}`);
    for (const { variable, meant } of configuration.misspelled) {
      logger.warn(`${variable} has no effect: is ${meant} meant?`);
    }
    const [managementUrl] = managementOrigins;
    if (managementUrl !== undefined) logger.log(`Management: ${managementUrl}`);
    logger.log(`Listening: POST ${baseUrl}/plants`);
    if (certificate !== undefined) reloadCertificate(app.getHttpServer() as PublicServer, configuration);
    else warnOfClearText(configuration);
    // Printed last, so that a newcomer sees it at the end of the output.
    await structuredLogger.flush();
    if (firstToken !== undefined) printFirstToken(firstToken, `${baseUrl}/plants`, configuration);
    else if (lacksTokens(configuration)) printTokenCommand(configuration);
  } catch (error) {
    // An error of closing must not hide this one.
    await Promise.allSettled([app.close(), management?.close()]);
    throw error;
  }
}

async function openTokens(configuration: Configuration): Promise<ReloadableTokens> {
  try {
    const { accessTokens, accessTokensFile, firstTokenFile, jwtIssuer } = configuration;
    // The journal would keep the token.
    const generateFirst = jwtIssuer === undefined && !isJournal();
    return await ReloadableTokens.open({ accessTokens, accessTokensFile, firstTokenFile, generateFirst });
  } catch (error) {
    throw nameTokenVariable(error, configuration);
  }
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

async function createService(
  configuration: Configuration,
  tokens: ReloadableTokens,
  certificate: Certificate | undefined,
  origins: ReadonlySet<string>,
  logger: LoggerService,
): Promise<PublicApplication> {
  return createApplication({
    basePath: configuration.basePath,
    plants: {
      repository: await openRepository(configuration.databaseUrl, {
        timeout: configuration.storeTimeout,
        startTimeout: configuration.databaseStartTimeout,
        poolSize: configuration.databasePoolSize,
        allocateLog: true,
        onWait: (reason) => void logger.warn(`The start waits for the database: ${reason}`, 'PlantStore'),
      }),
      authentication: { verifier: await createVerifier(tokens, configuration) },
      scope: configuration.requiredScope,
      refusedTokensPerMinute: configuration.refusedTokensPerMinute,
      body: { limit: configuration.bodyLimit },
    },
    http: {
      limits: {
        request: configuration.requestTimeout,
        keepAlive: configuration.keepAliveTimeout,
        connections: configuration.maxConnections,
        memory: Math.max(DEFAULT_LIMITS.memory, 4 * configuration.bodyLimit),
      },
      trustProxy: configuration.trustProxy,
      origins,
      certificate,
    },
    logger,
  });
}

/** Accepts static tokens and, if an issuer is configured, its JWTs. */
async function createVerifier(
  tokens: ReloadableTokens,
  { jwtIssuer, jwtAudience, jwtJwksUrl, jwtType }: Configuration,
): Promise<TokenVerifier> {
  if (jwtIssuer === undefined || jwtAudience === undefined) return tokens;
  const { JwtVerifier } = await import('../auth/jwt-verifier.js');
  const jwts = new JwtVerifier({ issuer: jwtIssuer, audience: jwtAudience, jwksUrl: jwtJwksUrl, type: jwtType });
  return new TokenVerifiers([tokens, jwts]);
}

async function createManagement(
  app: PublicApplication,
  tokens: ReloadableTokens,
  { managementHost, managementPort, managementAllowedHosts }: Configuration,
): Promise<ManagementListener | undefined> {
  if (managementPort === 'off') return undefined;
  const { ManagementListener } = await import('../management/management-listener.js');
  const expiries = {
    certificate: () => {
      const { certificate } = app.getHttpServer() as PublicServer;
      return certificate && certificateExpiry(certificate);
    },
    token: () => tokens.nextExpiry(),
  };
  return ManagementListener.create(app, {
    host: managementHost,
    port: managementPort,
    allowedHosts: managementAllowedHosts,
    version: readVersion(),
    expiries,
  });
}

/** @returns {base_url} */
async function listenForClients(app: PublicApplication, configuration: Configuration): Promise<string> {
  const { host, port, basePath, tlsCertFile } = configuration;
  await listen('HOST and PORT', `${host}:${port}`, () => app.listen({ port, host, backlog: BACKLOG }));
  // Nest reports http, because PublicServer handles TLS itself.
  const origin = (await app.getUrl()).replace(/^https?/, tlsCertFile === undefined ? 'http' : 'https');
  return `${origin}${basePath}`;
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
function stopOnSignals(app: PublicApplication, management: ManagementListener | undefined, timeout: number): void {
  const stop = (signal: NodeJS.Signals): void => {
    onStopSignals(exitStopped, stop);
    logger.log(`Stopping after ${signal}`);
    setTimeout(() => {
      logger.warn('Stopped after SHUTDOWN_TIMEOUT: requests in flight have no answer');
      exitStopped();
    }, timeout).unref();
    // A load balancer learns of the shutdown while requests are still answered.
    management?.reportShutdown();
    app
      .close()
      .finally(() => management?.close())
      .then(() => logger.log('Stopped'))
      .catch((error: unknown) => {
        logger.error(`The service could not close in order: ${String(error)}`);
        process.exit(1);
      });
  };
  onStopSignals(stop, exitStopped);
}

/** Reloads the token file when it changes, and at SIGHUP. */
function reloadTokens(tokens: ReloadableTokens): void {
  tokens.watch();
  process.on('SIGHUP', () => void tokens.reload());
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
function reloadCertificate(server: PublicServer, { tlsCertFile = '', tlsKeyFile = '' }: Configuration): void {
  watchFiles([tlsCertFile, tlsKeyFile], () => {
    try {
      const read = readCertificate(tlsCertFile, tlsKeyFile);
      if (server.certificate !== undefined && isSameCertificate(read, server.certificate)) return;
      server.setCertificate(read);
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
