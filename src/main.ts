import 'reflect-metadata';
import { existsSync } from 'node:fs';
import { ConsoleLogger, type INestApplication, Logger, type LogLevel as NestLogLevel } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { digestOf, randomToken, type StaticToken, StaticTokens } from './auth/static-tokens.js';
import { createTokenFile, readTokenFile, TokenFileError } from './auth/token-file.js';
import { type Configuration, ConfigurationError, loadConfiguration, type LogLevel } from './config/configuration.js';
import { createFastifyAdapter } from './http/fastify-adapter.js';
import { openRepository } from './storage/open-repository.js';

/** Exit statuses; 0 is that of a service which was told to stop. */
const CANNOT_RUN = 1;
const BAD_CONFIGURATION = 2;

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

const NEST_LEVELS: Record<LogLevel, NestLogLevel> = {
  fatal: 'fatal',
  error: 'error',
  warn: 'warn',
  info: 'log',
  debug: 'debug',
  trace: 'verbose',
};

/** One JSON line an event on stdout, readable lines on a terminal. */
class StdoutLogger extends ConsoleLogger {
  constructor(level: LogLevel) {
    super({ json: !process.stdout.isTTY, logLevels: [NEST_LEVELS[level]] });
  }

  protected override printAsJson(...[message, options]: Parameters<ConsoleLogger['printAsJson']>): void {
    super.printAsJson(message, { ...options, writeStreamType: 'stdout' });
  }
}

async function start(configuration: Configuration): Promise<void> {
  const known = knownTokens(configuration);
  const firstToken = randomToken();
  const tokens = new StaticTokens(known ?? [{ name: 'first-start', digest: digestOf(firstToken) }]);
  const app = await NestFactory.create(
    AppModule.forRoot({
      basePath: configuration.basePath,
      repository: await openRepository(
        configuration.databaseUrl,
        configuration.storeTimeout,
        configuration.databaseServer,
      ),
      verifier: tokens,
    }),
    createFastifyAdapter(configuration),
    // What Nest says of its own start interests nobody, and its account of a failure is not one line.
    { abortOnError: false, bodyParser: false, bufferLogs: true, autoFlushLogs: false },
  );
  try {
    await listen(app, configuration);
    // Before anybody can know that the service is up, and stop it.
    stopOnSignals(app, configuration.shutdownTimeout);
    Logger.detachBuffer();
    app.useLogger(new StdoutLogger(configuration.logLevel));
    const url = `${await app.getUrl()}${configuration.basePath}/plants`;
    if (known === undefined) {
      if (createTokenFile(configuration.firstTokenFile, firstToken)) introduce(firstToken, url, configuration);
      // Another first start was faster.
      else tokens.replace(readTokenFile(configuration.firstTokenFile));
    }
    new Logger('PlantStore').log(`Listening: POST ${url}`);
  } catch (error) {
    await app.close();
    throw error;
  }
}

async function listen(app: INestApplication, { host, port }: Configuration): Promise<void> {
  try {
    await app.listen(port, host);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'no code';
    throw new Error(`HOST and PORT: cannot listen on ${host}:${port} (${code}); choose others, or free them`, {
      cause: error,
    });
  }
}

/** The tokens that are configured, or that an earlier start has made; undefined where there are none yet. */
function knownTokens({ accessTokens, accessTokensFile, firstTokenFile }: Configuration): StaticToken[] | undefined {
  if (accessTokens.length === 0 && accessTokensFile === undefined) {
    return existsSync(firstTokenFile) ? readTokenFile(firstTokenFile) : undefined;
  }
  const listed = accessTokens.map((token, index) => ({ name: `token-${index + 1}`, digest: digestOf(token) }));
  try {
    return accessTokensFile === undefined ? listed : [...listed, ...readTokenFile(accessTokensFile)];
  } catch (error) {
    if (error instanceof TokenFileError) throw new ConfigurationError(`ACCESS_TOKENS_FILE: ${error.message}`);
    throw error;
  }
}

/** The first signal lets everybody be answered who is connected, the second one ends the process at once. */
function stopOnSignals(app: INestApplication, timeout: number): void {
  const stop = (): void => {
    for (const signal of SIGNALS) process.removeAllListeners(signal);
    setTimeout(() => process.exit(0), timeout).unref();
    void app.close();
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
