import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type NewPlantDto, PlantsModule, PlantsService } from '../../src/index.js';
import { type Application, HostLog, newApplication, send } from '../support/hosts/application.js';

describe('onPlantCreated', () => {
  let app: Application;
  let log: HostLog;
  let told: [plant: Readonly<NewPlantDto>, principal: string | undefined][];
  /** Runs in each call. */
  let react: (plant: Readonly<NewPlantDto>) => unknown;

  beforeEach(async () => {
    log = new HostLog();
    told = [];
    react = () => undefined;
    const plants = PlantsModule.forRoot({
      repository: 'sqlite::memory:',
      authentication: { tokens: ['first', 'token'] },
      onPlantCreated: (plant, principal) => {
        told.push([plant, principal?.name]);
        return react(plant);
      },
    });
    app = await newApplication(plants, { logger: log });
  });

  afterEach(() => app.close());

  async function create(plant: object, token = 'token'): Promise<unknown> {
    const answer = await send(app, { body: JSON.stringify(plant), token });
    return answer.body;
  }

  it('is called once for each plant that was created, with its principal', async () => {
    const fern = { id: 1, name: 'Fern', tag: 'indoor' };
    await create(fern, 'first');
    // Neither the same plant again, nor another one with its id, nor an invalid one.
    for (const plant of [fern, { id: 1, name: 'Aloe' }, { id: 2 }]) await create(plant);
    await Promise.all(Array.from({ length: 20 }, () => create({ id: 3, name: 'Ficus' })));
    await app.get(PlantsService).create({ id: 4n, name: 'Aloe' }, { principal: { name: 'gardener', scopes: 'all' } });
    await app.close();

    expect(told).toEqual([
      [{ ...fern, id: 1n }, 'token-1'],
      [{ id: 3n, name: 'Ficus' }, 'token-2'],
      [{ id: 4n, name: 'Aloe' }, 'gardener'],
    ]);
  });

  it('is logged and changes no answer if it fails', async () => {
    react = () => Promise.reject(new Error('The gardener is ill.'));

    expect(await create({ id: 7, name: 'Monstera' })).toEqual({ name: 'Monstera' });
    await app.close();

    expect(log.errors).toEqual([
      ['onPlantCreated failed for the plant 7', expect.stringContaining('The gardener is ill.'), 'PlantStore'],
    ]);
  });

  it('is called after the answer, which it cannot change', async () => {
    let answer: ServerResponse | undefined;
    let isAnswered: boolean | undefined;
    app.use((_request: unknown, response: ServerResponse, next: () => void) => {
      answer = response;
      next();
    });
    react = (plant) => {
      isAnswered = answer?.writableEnded;
      Object.assign(plant, { name: 'Ficus' });
    };

    expect(await create({ id: 1, name: 'Monstera' })).toEqual({ name: 'Monstera' });
    await app.close();
    expect(isAnswered).toBe(true);
  });

  it('has ended when the application is closed, even for a plant that waits for the store when the close begins', async () => {
    let isEnded = false;
    react = async () => {
      await nextTurn();
      isEnded = true;
    };

    const created = app.get(PlantsService).create({ id: 1n, name: 'Monstera' });
    await app.close();

    expect(isEnded).toBe(true);
    await created;
  });

  it('delays no answer, but the close of the application, and cannot create plants then', async () => {
    let wake = (): void => undefined;
    const rest = new Promise<void>((resolve) => (wake = resolve));
    let error: unknown;
    react = async () => {
      await rest;
      error = await app
        .get(PlantsService)
        .create({ id: 2n, name: 'Ficus' })
        .catch((thrown: unknown) => thrown);
    };

    expect(await create({ id: 1, name: 'Monstera' })).toEqual({ name: 'Monstera' });
    let isClosed = false;
    const closing = app.close().then(() => (isClosed = true));
    await once(app.getHttpServer(), 'close');
    await new Promise(setImmediate);
    expect(isClosed).toBe(false);
    wake();
    await closing;
    expect(error).toMatchObject({ error: 503 });
    expect(log.errors).toEqual([]);
  });
});
