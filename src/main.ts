import 'reflect-metadata';
import { rmSync } from 'node:fs';
import { ConsoleLogger, Logger, type LogLevel as NestLogLevel } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { digestOf, type StaticToken, StaticTokens } from './auth/static-tokens.js';
import { createTokenFile, readTokenFile, TokenFileError } from './auth/token-file.js';
import { type Configuration, ConfigurationError, loadConfiguration, type LogLevel } from './config/configuration.js';
import { createFastifyAdapter } from './http/fastify-adapter.js';

/** Exit statuses; 0 is that of a service which was told to stop. */
const CANNOT_RUN = 1;
const BAD_CONFIGURATION = 2;

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
  const tokens = configuredTokens(configuration);
  const firstToken = tokens === undefined ? createTokenFile(configuration.firstTokenFile) : undefined;
  try {
    const app = await NestFactory.create(
      AppModule.forRoot({
        basePath: configuration.basePath,
        repository: configuration.databaseUrl,
        verifier: new StaticTokens(tokens ?? readTokenFile(configuration.firstTokenFile)),
      }),
      createFastifyAdapter({ bodyLimit: configuration.bodyLimit }),
      // What Nest says of its own start interests nobody, and its account of a failure is not one line.
      {
        abortOnError: false,
        bodyParser: false,
        bufferLogs: true,
        autoFlushLogs: false,
      },
    );
    await app.listen(configuration.port, configuration.host);
    // Before anybody can know that the service is up, and stop it.
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void app.close());
    Logger.detachBuffer();
    app.useLogger(new StdoutLogger(configuration.logLevel));
    const url = `${await app.getUrl()}${configuration.basePath}/plants`;
    new Logger('PlantStore').log(`Listening: POST ${url}`);
    if (firstToken !== undefined) introduce(firstToken, url, configuration.firstTokenFile);
  } catch (error) {
    // A token that nobody has seen is of no use to anybody.
    if (firstToken !== undefined) rmSync(configuration.firstTokenFile);
    throw error;
  }
}

/** The tokens that the operator has named; undefined where nothing names any. */
function configuredTokens({ accessTokens, accessTokensFile }: Configuration): StaticToken[] | undefined {
  if (accessTokens.length === 0 && accessTokensFile === undefined) return undefined;
  const listed = accessTokens.map((token, index) => ({
    name: `token-${index + 1}`,
    digest: digestOf(token),
  }));
  try {
    return accessTokensFile === undefined ? listed : [...listed, ...readTokenFile(accessTokensFile)];
  } catch (error) {
    if (error instanceof TokenFileError) throw new ConfigurationError(`ACCESS_TOKENS_FILE: ${error.message}`);
    throw error;
  }
}

/** To the person who starts the service for the first time, and not to the log, which is kept. */
function introduce(token: string, url: string, file: string): void {
  process.stderr.write(`
This is a new store, so here is a new token. It is shown this once; ${file} keeps its digest.
Create a plant with it:

curl -i ${url} \\
  -H 'Authorization: Bearer ${token}' \\
  -H 'Content-Type: application/json' \\
  -d '{"id": 1, "name": "Monstera", "tag": "indoor"}'

`);
}

try {
  await start(loadConfiguration());
} catch (error) {
  process.stderr.write(`plant-store: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = error instanceof ConfigurationError ? BAD_CONFIGURATION : CANNOT_RUN;
}
