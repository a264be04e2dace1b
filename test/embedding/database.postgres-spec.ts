import { PlantsModule, PlantsService } from '../../src/index.js';
import { HostLog, newApplication } from '../support/hosts/application.js';
import { PostgresServer } from '../support/postgres.js';
import { until } from '../support/until.js';

describe('PlantsModule', () => {
  it('waits for its PostgreSQL server, logs it, and gives up after startTimeout', async () => {
    const server = await PostgresServer.start();
    const logger = new HostLog();
    const start = (startTimeout: number) => {
      const database = { startTimeout, timeout: 1_000 };
      const plants = PlantsModule.forRoot({ repository: server.url(), authentication: false, database });
      return newApplication(plants, { logger });
    };
    await server.stop();
    const words = /the database postgres:\/\/localhost\/postgres cannot be reached or used/;

    await expect(start(1)).rejects.toMatchObject({
      name: 'RepositoryStartError',
      message: expect.stringMatching(words) as string,
    });
    logger.warnings.length = 0;
    const starting = start(600_000);
    await until('the wait is logged', () => logger.warnings.length > 0);
    await server.restart();
    const app = await starting;

    await app.get(PlantsService).create({ id: 1n, name: 'Monstera' });
    expect(logger.warnings).toEqual([expect.stringMatching(`^The start waits for the database: ${words.source}`)]);
    await app.close();
    await server.remove();
  });
});
