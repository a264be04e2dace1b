import 'reflect-metadata';

import { type INestApplication, Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { AccessTokens } from './auth/access-tokens.js';
import { TokenFileError } from './auth/token-file.js';
import { type TokenVerifier, TokenVerifiers } from './auth/token-verifier.js';
import { type Configuration, ConfigurationError } from './config/configuration.js';
import { watchFiles } from './config/watched-file.js';
import { type Certificate, CertificateError, expiryOf, readCertificate } from './http/certificate.js';
import { createFastifyAdapter } from './http/fastify-adapter.js';
import type { PublicServer } from './http/public-server.js';
import { StructuredLogger } from './operations/logger.js';
import type { ManagementServer } from './operations/management-server.js';
import { openRepository } from './storage/open-repository.js';

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/**
 * Starts the standalone service, which ends with the process.
 *
 * @throws {ConfigurationError} where a setting turns out to be wrong; else an error whose message is for the operator
 */
export async function startService(configuration: Configuration): Promise<void> {
  const tokens = await openTokens(configuration);
  const issued = await jwtVerifiers(configuration);
  const origins = new Set(configuration.corsOrigins);
  const certificate = readCertificateOf(configuration);
  const app = await NestFactory.create(
    AppModule.forRoot({
      basePath: configuration.basePath,
      repository: await openRepository(configuration.databaseUrl, configuration.database),
      authentication: { verifier: issued.length === 0 ? tokens : new TokenVerifiers([tokens, ...issued]) },
      scope: configuration.requiredScope,
      refusedTokensPerMinute: configuration.refusedTokensPerMinute,
      body: { limit: configuration.bodyLimit },
    }),
    createFastifyAdapter({ ...configuration, origins, certificate }),
    // What Nest says of its own start interests nobody, and its account of a failure is not one line.
    {
      abortOnError: false,
      bodyParser: false,
      bufferLogs: true,
      autoFlushLogs: false,
      // Only for the URL that Nest tells.
      ...(certificate && { httpsOptions: certificate }),
    },
  );
  let management: ManagementServer | undefined;
  try {
    await listen('HOST and PORT', configuration, ({ host, port }) => app.listen(port, host));
    management = await startManagement(app, configuration);
    for (const origin of management?.origins ?? []) origins.add(origin);
    // Before anybody can know that the service is up, and stop it.
    stopOnSignals(app, management, configuration.shutdownTimeout);
    Logger.detachBuffer();
    const structured = await StructuredLogger.create(configuration.logLevel);
    app.useLogger(structured);
    structured.logRequests();
    const url = `${await app.getUrl()}${configuration.basePath}/plants`;
    const firstToken = await tokens.keepFirst();
    if (firstToken !== undefined) introduce(firstToken, url, configuration);
    tokens.watch();
    process.on('SIGHUP', () => void tokens.reload());
    const logger = new Logger('PlantStore');
    if (management !== undefined) logger.log(`Management: ${management.url}`);
    logger.log(`Listening: POST ${url}`);
    if (certificate !== undefined) keepCertificate(app, configuration, logger);
    else if (configuration.trustProxy.length === 0 && !isLoopback(configuration.host)) {
      logger.warn(
        'Tokens travel in clear text: set TLS_CERT_FILE and TLS_KEY_FILE, or TRUST_PROXY for a proxy with TLS',
      );
    }
  } catch (error) {
    await app.close();
    await management?.close();
    throw error;
  }
}

/** @throws {ConfigurationError} where it cannot be used */
function readCertificateOf({ tlsCertFile, tlsKeyFile }: Configuration): Certificate | undefined {
  if (tlsCertFile === undefined || tlsKeyFile === undefined) return undefined;
  try {
    return readCertificate(tlsCertFile, tlsKeyFile);
  } catch (error) {
    if (error instanceof CertificateError) {
      throw new ConfigurationError(`TLS_CERT_FILE and TLS_KEY_FILE: ${error.message}`);
    }
    throw error;
  }
}

/** Takes another certificate when there is one, for connections that begin afterwards. */
function keepCertificate(app: INestApplication, configuration: Configuration, logger: Logger): void {
  const { tlsCertFile = '', tlsKeyFile = '' } = configuration;
  watchFiles([tlsCertFile, tlsKeyFile], () => {
    try {
      const certificate = readCertificate(tlsCertFile, tlsKeyFile);
      (app.getHttpServer() as PublicServer).setCertificate(certificate);
      logger.log(`The certificate has changed: this one is valid until ${expiryOf(certificate).toISOString()}`);
    } catch (error) {
      if (!(error instanceof CertificateError)) throw error;
      logger.error(`${error.message}; until then the certificate of before stays in use`);
    }
  });
}

/** Whether nobody on a network can listen to what is sent there. */
function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}

/** Where to listen. */
interface Address {
  readonly host: string;
  readonly port: number;
}

/** @param variables what the operator sets the address with */
async function listen<T>(variables: string, address: Address, begin: (address: Address) => T | Promise<T>): Promise<T> {
  try {
    return await begin(address);
  } catch (error) {
    const { host, port } = address;
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'no code';
    throw new Error(`${variables}: cannot listen on ${host}:${port} (${code}); choose others, or free them`, {
      cause: error,
    });
  }
}

async function startManagement(
  app: INestApplication,
  { managementHost: host, managementPort: port }: Configuration,
): Promise<ManagementServer | undefined> {
  if (port === undefined) return undefined;
  const { startManagementServer } = await import('./operations/management-server.js');
  return listen('MANAGEMENT_HOST and MANAGEMENT_PORT', { host, port }, (address) =>
    startManagementServer(app, address),
  );
}

async function openTokens(configuration: Configuration): Promise<AccessTokens> {
  try {
    return await AccessTokens.open({ ...configuration, others: configuration.jwtIssuer !== undefined });
  } catch (error) {
    if (!(error instanceof TokenFileError) || configuration.accessTokensFile === undefined) throw error;
    throw new ConfigurationError(`ACCESS_TOKENS_FILE: ${error.message}`);
  }
}

async function jwtVerifiers(configuration: Configuration): Promise<TokenVerifier[]> {
  const { jwtIssuer, jwtAudience, jwtJwksUrl, jwtType } = configuration;
  if (jwtIssuer === undefined || jwtAudience === undefined) return [];
  const { JwtVerifier } = await import('./auth/jwt-verifier.js');
  return [new JwtVerifier({ issuer: jwtIssuer, audience: jwtAudience, jwksUrl: jwtJwksUrl, type: jwtType })];
}

/** The first signal lets everybody be answered who is connected, the second one ends the process at once. */
function stopOnSignals(app: INestApplication, management: ManagementServer | undefined, timeout: number): void {
  const stop = (): void => {
    for (const signal of SIGNALS) process.removeAllListeners(signal);
    setTimeout(() => process.exit(0), timeout).unref();
    // Whoever sends requests here learns it from the one before the other takes no more of them.
    management?.shuttingDown();
    void app.close().then(() => management?.close());
  };
  for (const signal of SIGNALS) process.removeAllListeners(signal).on(signal, stop);
}

/** To the person who starts the service for the first time, and not to the log, which is kept. */
function introduce(token: string, url: string, { firstTokenFile }: Configuration): void {
  process.stderr.write(`
No token is configured, so here is a new one. It is shown this once; ${firstTokenFile} keeps its digest.
Create a plant with it:

curl -i ${url} \\
  -H 'Authorization: Bearer ${token}' \\
  -H 'Content-Type: application/json' \\
  -d '{"id": 1, "name": "Monstera", "tag": "indoor"}'

`);
}
