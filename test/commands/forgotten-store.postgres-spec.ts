import { create, CREATED } from '../support/client.js';
import type { Run } from '../support/command.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';
import { newStore, type Store } from '../support/store.js';

const WARNING = '"level":"warn"';

describe('A service on PostgreSQL', () => {
  let directory: ServiceDirectory;
  let store: Store;

  beforeEach(async () => {
    directory = new ServiceDirectory();
    store = await newStore();
  });

  afterEach(async () => {
    await directory.remove();
    await store.close();
  });

  /** Starts a service on PostgreSQL, creates a plant, and returns the warnings of its log. */
  async function warnings(): Promise<string[]> {
    const { service, url } = await directory.start({ ...WITH_TOKEN, DATABASE_URL: store.url });
    expect(await create(url, { id: 2, name: 'Ficus' })).toMatchObject({ status: 200 });
    await service.stop();
    return service.lines.filter((line) => line.includes(WARNING));
  }

  it('warns while its database is empty beside data/plants.db, and names the command', async () => {
    const sqlite = await directory.start();
    expect(await create(sqlite.url)).toEqual(CREATED);
    await sqlite.service.stop();

    const [warning, ...others] = await warnings();

    expect(others).toEqual([]);
    expect(warning).toContain('run DATABASE_URL=sqlite:data/plants.db plant-store copy --to URL');
    expect(await warnings()).toEqual([]);
    const { status } = await directory.run('copy', ['--to', store.url], {
      DATABASE_URL: 'sqlite:data/plants.db',
    });
    expect(status).not.toBe(2);
    expect((await store.rows()).map(({ name }) => name)).toEqual(['Monstera', 'Ficus']);
  });

  it('does not warn without that file', async () => {
    expect(await warnings()).toEqual([]);
  });

  it('is checked without a change', async () => {
    const check = (): Promise<Run> => directory.run('check', ['--json'], { ...WITH_TOKEN, DATABASE_URL: store.url });
    await store.query('DROP TABLE IF EXISTS plants, plant_store_schema');

    expect(JSON.parse((await check()).stdout)).toMatchObject({ database: 'new' });
    expect(await store.query("SELECT 1 FROM pg_tables WHERE tablename LIKE 'plant%'")).toEqual([]);
    await warnings();
    expect(JSON.parse((await check()).stdout)).toMatchObject({ database: 'present' });
  });
});
