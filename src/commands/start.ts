import 'reflect-metadata';
import { Logger, type LoggerService } from '@nestjs/common';
import { createApplication } from '../app.module.js';
import { isLoopbackHost } from '../auth/jwt-settings.js';
import { ReloadableTokens } from '../auth/reloadable-tokens.js';
import { TokenFileError } from '../auth/token-file.js';
import { type TokenVerifier, TokenVerifiers } from '../auth/token-verifier.js';
import { type Configuration, ConfigurationError } from '../config/configuration.js';
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
import { openRepository } from '../storage/open-repository.js';
import { listen } from './listen.js';

const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** Connections that wait to be accepted, at most; the operating system may allow fewer (on Linux, net.core.somaxconn). */
const BACKLOG = 4_096;

const logger = new Logger('PlantStore');

/**
 * Starts the standalone service, which runs until a signal stops the process.
 *
 * @param exit the listener of the stop signals until there is something to close
 * @throws {ConfigurationError | ListenError | RepositoryStartError | TokenFileError} with a message for the operator;
 *   any other error is a defect
 */
export async function start(configuration: Configuration, exit: () => void): Promise<void> {
  const structuredLogger = await StructuredLogger.create(configuration.logLevel);
  const tokens = await openTokens(configuration);
  const certificate = loadCertificate(configuration);
  const origins = new Set(configuration.corsOrigins);
  const app = await createService(configuration, tokens, certificate, origins, structuredLogger);
  structuredLogger.logRequests();
  let management: ManagementListener | undefined;
  try {
    management = await createManagement(app, configuration);
    const baseUrl = await listenForClients(app, configuration);
    const managementOrigins = await listenForOperators(management, baseUrl, configuration);
    // The docs page of the management listener creates plants on the public port.
    for (const origin of managementOrigins) origins.add(origin);
    // Install the handlers before logging that the service is up: a supervisor may signal at once.
    stopOnSignals(app, management, configuration.shutdownTimeout, exit);
    await useTokenFile(tokens, `${baseUrl}/plants`, configuration);
    const [managementUrl] = managementOrigins;
    if (managementUrl !== undefined) logger.log(`Management: ${managementUrl}`);
    logger.log(`Listening: POST ${baseUrl}/plants`);
  } catch (error) {
    // An error of closing must not hide this one.
    await Promise.allSettled([app.close(), management?.close()]);
    throw error;
  }
  if (certificate !== undefined) reloadCertificate(app, certificate, configuration);
  else if (configuration.trustProxy.length === 0 && !isLoopbackHost(configuration.host)) {
    logger.warn('Tokens travel in clear text: set TLS_CERT_FILE and TLS_KEY_FILE, or TRUST_PROXY for a proxy with TLS');
  }
}

async function openTokens(configuration: Configuration): Promise<ReloadableTokens> {
  try {
    const { accessTokens, accessTokensFile, firstTokenFile, jwtIssuer } = configuration;
    const generateFirst = jwtIssuer === undefined;
    return await ReloadableTokens.open({ accessTokens, accessTokensFile, firstTokenFile, generateFirst });
  } catch (error) {
    if (!(error instanceof TokenFileError) || configuration.accessTokensFile === undefined) throw error;
    throw new ConfigurationError(`ACCESS_TOKENS_FILE: ${error.message}`);
  }
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

/** @throws {ConfigurationError} if it cannot be used */
function loadCertificate({ tlsCertFile, tlsKeyFile }: Configuration): Certificate | undefined {
  if (tlsCertFile === undefined || tlsKeyFile === undefined) return undefined;
  try {
    return readCertificate(tlsCertFile, tlsKeyFile);
  } catch (error) {
    if (!(error instanceof CertificateError)) throw error;
    throw new ConfigurationError(`TLS_CERT_FILE and TLS_KEY_FILE: ${error.message}`);
  }
}

async function createManagement(
  app: PublicApplication,
  { managementHost, managementPort, managementAllowedHosts }: Configuration,
): Promise<ManagementListener | undefined> {
  if (managementPort === 'off') return undefined;
  const { ManagementListener } = await import('../management/management-listener.js');
  return ManagementListener.create(app, managementHost, managementPort, managementAllowedHosts);
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
function stopOnSignals(
  app: PublicApplication,
  management: ManagementListener | undefined,
  timeout: number,
  exit: () => void,
): void {
  const stop = (): void => {
    for (const signal of STOP_SIGNALS) process.off(signal, stop);
    setTimeout(() => process.exit(0), timeout).unref();
    // A load balancer learns of the shutdown while requests are still answered.
    management?.reportShutdown();
    app
      .close()
      .finally(() => management?.close())
      .catch((error: unknown) => {
        logger.error(`The service could not close in order: ${String(error)}`);
        process.exit(1);
      });
  };
  for (const signal of STOP_SIGNALS) process.off(signal, exit).on(signal, stop);
}

/** Keeps and prints the token of a first start, and reloads the token file when it changes or at SIGHUP. */
async function useTokenFile(tokens: ReloadableTokens, url: string, configuration: Configuration): Promise<void> {
  const firstToken = await tokens.keepFirstToken();
  if (firstToken !== undefined) printFirstToken(firstToken, url, configuration);
  tokens.watch();
  process.on('SIGHUP', () => void tokens.reload());
}

/** Uses a changed certificate for new connections. */
function reloadCertificate(
  app: PublicApplication,
  certificate: Certificate,
  { tlsCertFile = '', tlsKeyFile = '' }: Configuration,
): void {
  let current = certificate;
  watchFiles([tlsCertFile, tlsKeyFile], () => {
    try {
      const read = readCertificate(tlsCertFile, tlsKeyFile);
      if (isSameCertificate(read, current)) return;
      current = read;
      (app.getHttpServer() as PublicServer).setCertificate(current);
      logger.log(`The certificate has changed: the new one is valid until ${certificateExpiry(current).toISOString()}`);
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
