import 'reflect-metadata';
import type { Server } from 'node:https';
import { type INestApplication, Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { AccessTokens } from './auth/access-tokens.js';
import { JwtVerifier } from './auth/jwt-verifier.js';
import { TokenFileError } from './auth/token-file.js';
import { TokenVerifiers } from './auth/token-verifier.js';
import { type Configuration, ConfigurationError, loadConfiguration } from './config/configuration.js';
import { watchFiles } from './config/watched-file.js';
import { type Certificate, CertificateError, expiryOf, readCertificate } from './http/certificate.js';
import { createFastifyAdapter } from './http/fastify-adapter.js';
import { StructuredLogger } from './operations/logger.js';
import { type ManagementServer, startManagementServer } from './operations/management-server.js';
import { openRepository } from './storage/open-repository.js';

/** Exit statuses; 0 is that of a service which was told to stop. */
const CANNOT_RUN = 1;
const BAD_CONFIGURATION = 2;

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

async function start(configuration: Configuration): Promise<void> {
  const tokens = await openTokens(configuration);
  const origins = new Set(configuration.corsOrigins);
  const certificate = readCertificateOf(configuration);
  const app = await NestFactory.create(
    AppModule.forRoot({
      basePath: configuration.basePath,
      repository: await openRepository(
        configuration.databaseUrl,
        configuration.storeTimeout,
        configuration.databaseServer,
      ),
      authentication: { verifier: new TokenVerifiers([tokens, ...jwtVerifiers(configuration)]) },
      scope: configuration.requiredScope,
      refusedTokensPerMinute: configuration.refusedTokensPerMinute,
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
      (app.getHttpServer() as Server).setSecureContext(certificate);
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

function jwtVerifiers({ jwtIssuer, jwtAudience, jwtJwksUrl, jwtType }: Configuration): JwtVerifier[] {
  if (jwtIssuer === undefined || jwtAudience === undefined) return [];
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

// Until there is something to stop in order.
for (const signal of SIGNALS) process.on(signal, () => process.exit(0));
// Whoever read the log is gone; those who create plants are not.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

try {
  if (process.argv.length > 2)
    throw new ConfigurationError('the service takes no arguments: it is configured by environment variables');
  await start(loadConfiguration());
} catch (error) {
  process.stderr.write(`plant-store: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = error instanceof ConfigurationError ? BAD_CONFIGURATION : CANNOT_RUN;
}
