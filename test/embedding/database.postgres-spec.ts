import { PlantsModule, PlantsService } from '../../src/index.js';
import { type Application, HostLog, newApplication } from '../support/hosts/application.js';
import { PostgresServer } from '../support/postgres.js';
import { until } from '../support/until.js';

/** Jest's sandbox has another class Error than Node, so that the code in parentheses is missing here. */
const CANNOT_BE_REACHED =
  'the database postgres://localhost/postgres cannot be reached or used \\(\\w*\\); check its server and its URL$';

let server: PostgresServer;

beforeAll(async () => {
  server = await PostgresServer.start();
});

beforeEach(() => server.stop());

afterAll(() => server.remove());

function start(database: object, logger = new HostLog()): Promise<Application> {
  const options = { repository: server.url(), authentication: false, database } as const;
  return newApplication(PlantsModule.forRoot(options), { logger });
}

describe('PlantsModule, while its PostgreSQL server is down,', () => {
  it('logs that the start waits, and then starts', async () => {
    const log = new HostLog();
    const starting = start({}, log);
    await until('the wait is logged', () => log.warnings.length > 0);
    await server.restart();
    const app = await starting;

    await app.get(PlantsService).create({ id: 1n, name: 'Monstera' });

    const words = new RegExp(`^The start waits for the database: ${CANNOT_BE_REACHED}`);
    expect(log.warnings).toEqual([expect.stringMatching(words)]);
    await app.close();
  });

  it('does not start after startTimeout, and names the database in one line', async () => {
    await expect(start({ startTimeout: 1, timeout: 1_000 })).rejects.toMatchObject({
      name: 'RepositoryStartError',
      message: expect.stringMatching(new RegExp(`^${CANNOT_BE_REACHED}`)) as string,
    });
  });
});
