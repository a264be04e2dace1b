import 'reflect-metadata';
import { type INestApplication, Logger } from '@nestjs/common';
import { createApplication } from '../app.module.js';
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
import type { PublicServer } from '../http/public-server.js';
import { StructuredLogger } from '../logging/structured-logger.js';
import type { ManagementListener } from '../management/management-listener.js';
import { openRepository } from '../storage/open-repository.js';

const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/**
 * Starts the standalone service, which runs until a signal stops the process.
 *
 * @throws {ConfigurationError} if a setting is wrong; the message of any other error is for the operator, too
 */
export async function start(configuration: Configuration): Promise<void> {
  const structuredLogger = await StructuredLogger.create(configuration.logLevel);
  const tokens = await openTokens(configuration);
  const origins = new Set(configuration.corsOrigins);
  const certificate = loadCertificate(configuration);
  const app = await createApplication({
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
      },
      trustProxy: configuration.trustProxy,
      origins,
      certificate,
    },
    logger: structuredLogger,
  });
  structuredLogger.logRequests();
  const management = await createManagement(app, configuration);
  const logger = new Logger('PlantStore');
  try {
    const { host, port, managementHost, managementPort } = configuration;
    await listen('HOST and PORT', host, port, () => app.listen(port, host));
    // The server handles TLS itself, so Nest reports an http URL.
    const origin = (await app.getUrl()).replace(/^https?/, certificate === undefined ? 'http' : 'https');
    const baseUrl = `${origin}${configuration.basePath}`;
    const plantsUrl = `${baseUrl}/plants`;
    let managementOrigins: readonly string[] = [];
    if (management !== undefined && managementPort !== 'off') {
      managementOrigins = await listen('MANAGEMENT_HOST and MANAGEMENT_PORT', managementHost, managementPort, () =>
        management.listen(managementPort, managementHost, baseUrl),
      );
      // The docs page creates plants on the public port.
      for (const managementOrigin of managementOrigins) origins.add(managementOrigin);
    }
    // Signals must be handled before the log says that the service is up.
    stopOnSignals(app, management, configuration.shutdownTimeout);
    const firstToken = await tokens.keepFirstToken();
    if (firstToken !== undefined) introduce(firstToken, plantsUrl, configuration);
    tokens.watch();
    process.on('SIGHUP', () => void tokens.reload());
    const [managementUrl] = managementOrigins;
    if (managementUrl !== undefined) logger.log(`Management: ${managementUrl}`);
    logger.log(`Listening: POST ${plantsUrl}`);
  } catch (error) {
    await app.close();
    await management?.close();
    throw error;
  }
  if (certificate !== undefined) reloadCertificate(app, certificate, configuration, logger);
  else if (configuration.trustProxy.length === 0 && !isLoopback(configuration.host)) {
    logger.warn('Tokens travel in clear text: set TLS_CERT_FILE and TLS_KEY_FILE, or TRUST_PROXY for a proxy with TLS');
  }
}

async function openTokens(configuration: Configuration): Promise<ReloadableTokens> {
  try {
    return await ReloadableTokens.open({ ...configuration, generateFirst: configuration.jwtIssuer === undefined });
  } catch (error) {
    if (!(error instanceof TokenFileError) || configuration.accessTokensFile === undefined) throw error;
    throw new ConfigurationError(`ACCESS_TOKENS_FILE: ${error.message}`);
  }
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

/** Uses a changed certificate for new connections. */
function reloadCertificate(
  app: INestApplication,
  certificate: Certificate,
  { tlsCertFile = '', tlsKeyFile = '' }: Configuration,
  logger: Logger,
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
      if (!(error instanceof CertificateError)) throw error;
      logger.error(`${error.message}; keeping the previous certificate`);
    }
  });
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}

/** @param variables the names of the variables that set the address */
async function listen<Result>(
  variables: string,
  host: string,
  port: number,
  begin: () => Promise<Result>,
): Promise<Result> {
  try {
    return await begin();
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'no code';
    throw new Error(
      `${variables}: cannot listen on ${host}:${port} (${code}): set another address, or stop the process that uses it`,
      { cause },
    );
  }
}

async function createManagement(
  app: INestApplication,
  { managementPort }: Configuration,
): Promise<ManagementListener | undefined> {
  if (managementPort === 'off') return undefined;
  const { ManagementListener } = await import('../management/management-listener.js');
  return ManagementListener.create(app);
}

/** At the first signal, stops after requests in flight are answered; at the second one, stops at once. */
function stopOnSignals(app: INestApplication, management: ManagementListener | undefined, timeout: number): void {
  const stop = (): void => {
    for (const signal of STOP_SIGNALS) process.removeAllListeners(signal);
    setTimeout(() => process.exit(0), timeout).unref();
    // A load balancer learns of the shutdown while requests are still answered.
    management?.reportShutdown();
    void app.close().then(() => management?.close());
  };
  for (const signal of STOP_SIGNALS) process.removeAllListeners(signal).on(signal, stop);
}

/** Prints the first token to stderr, and not to the log, which is stored. */
function introduce(token: string, url: string, { firstTokenFile }: Configuration): void {
  process.stderr.write(`
No token is configured, so the service has created one. It is shown only once; ${firstTokenFile} keeps its digest.
Create a plant with it:

curl -i ${url} \\
  -H 'Authorization: Bearer ${token}' \\
  -H 'Content-Type: application/json' \\
  -d '{"id": 1, "name": "Monstera", "tag": "indoor"}'

`);
}
