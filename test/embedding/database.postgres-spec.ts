import { NestFactory } from '@nestjs/core';
import { PlantsModule, type PlantsModuleOptions, PlantsService } from '../../src/index.js';
import { PostgresServer } from '../support/postgres.js';

/** Jest's sandbox has another class Error than Node, so that the code in parentheses is missing here. */
const CANNOT_BE_REACHED =
  'the database postgres://localhost/postgres cannot be reached or used \\(\\w*\\); check its server and its URL';

let server: PostgresServer;

beforeAll(async () => {
  server = await PostgresServer.start();
});

afterAll(() => server.remove());

/** Starts a host, and returns the warnings in its log. */
function start(options: PlantsModuleOptions) {
  const warnings: string[] = [];
  const ignore = (): void => undefined;
  const logger = { log: ignore, error: ignore, warn: (message: string) => void warnings.push(message) };
  const app = NestFactory.create(PlantsModule.forRoot(options), { logger, abortOnError: false });
  return { warnings, app };
}

describe('PlantsModule on a PostgreSQL server', () => {
  it('logs that the start waits while the server is down, and then starts', async () => {
    await server.stop();
    const { warnings, app } = start({ repository: server.url(), authentication: false });
    while (warnings.length === 0) await new Promise(setImmediate);
    await server.restart();
    const started = await app;

    await started.get(PlantsService).create({ id: 1n, name: 'Monstera' });

    expect(warnings).toEqual([
      expect.stringMatching(new RegExp(`^The start waits for the database: ${CANNOT_BE_REACHED}$`)),
    ]);
    await started.close();
  });

  it('names the database in one line if the server stays down', async () => {
    await server.stop();
    const { app } = start({
      repository: server.url(),
      authentication: false,
      database: { startTimeout: 1, timeout: 1_000 },
    });

    await expect(app).rejects.toMatchObject({
      name: 'RepositoryStartError',
      message: expect.stringMatching(new RegExp(`^${CANNOT_BE_REACHED}$`)) as string,
    });
    await server.restart();
  });
});
