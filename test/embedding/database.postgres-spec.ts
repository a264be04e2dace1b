import { PlantsModule, type PlantsModuleOptions, PlantsService } from '../../src/index.js';
import { type Application, HostLog, newApplication } from '../support/hosts/application.js';
import { PostgresServer } from '../support/postgres.js';

/** Jest's sandbox has another class Error than Node, so that the code in parentheses is missing here. */
const CANNOT_BE_REACHED =
  'the database postgres://localhost/postgres cannot be reached or used \\(\\w*\\); check its server and its URL';

let server: PostgresServer;

beforeAll(async () => {
  server = await PostgresServer.start();
});

afterAll(() => server.remove());

function start(options: PlantsModuleOptions, log = new HostLog()): Promise<Application> {
  return newApplication(PlantsModule.forRoot(options), { logger: log });
}

describe('PlantsModule on a PostgreSQL server', () => {
  it('logs that the start waits while the server is down, and then starts', async () => {
    await server.stop();
    const log = new HostLog();
    const app = start({ repository: server.url(), authentication: false }, log);
    while (log.warnings.length === 0) await new Promise(setImmediate);
    await server.restart();
    const started = await app;

    await started.get(PlantsService).create({ id: 1n, name: 'Monstera' });

    expect(log.warnings).toEqual([
      expect.stringMatching(new RegExp(`^The start waits for the database: ${CANNOT_BE_REACHED}$`)),
    ]);
    await started.close();
  });

  it('names the database in one line if the server stays down', async () => {
    await server.stop();
    const app = start({
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
