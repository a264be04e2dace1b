import { once } from 'node:events';
import { Injectable, Module } from '@nestjs/common';
import { PlantsModule, PlantsService, type Principal } from '../../src/index.js';
import { type Application, HostLog, MONSTERA, newApplication, send } from '../support/hosts/application.js';

type Told = readonly [id: bigint, name: string, tag: string | undefined, principal: string | undefined];

/** A provider of the host that is told of plants. */
@Injectable()
class Gardener {
  readonly told: Told[] = [];
  /** Runs in each call. */
  react: () => unknown = () => undefined;

  welcome({ id, name, tag }: { id: bigint; name: string; tag?: string }, principal?: Principal): unknown {
    this.told.push([id, name, tag, principal?.name]);
    return this.react();
  }
}

@Module({ providers: [Gardener], exports: [Gardener] })
class GardenerModule {}

let app: Application;
let log: HostLog;
let gardener: Gardener;

async function create(body: string, token = 'first'): Promise<unknown> {
  const answer = await send(app, { body, token });
  return answer.body;
}

describe('onPlantCreated', () => {
  /** Lets the calls of `sleep` end. */
  let wake: () => void;
  let sleep: () => Promise<void>;

  beforeEach(async () => {
    log = new HostLog();
    const plants = PlantsModule.forRootAsync({
      imports: [GardenerModule],
      inject: [Gardener],
      useFactory: (gardener: Gardener) => ({
        repository: 'sqlite::memory:',
        authentication: { tokens: ['first', 'second'] },
        onPlantCreated: (plant, principal) => gardener.welcome(plant, principal),
      }),
    });
    app = await newApplication(plants, { logger: log });
    gardener = app.get(Gardener, { strict: false });
    const rest = new Promise<void>((resolve) => (wake = resolve));
    sleep = () => rest;
  });

  afterEach(async () => {
    wake();
    await app.close();
  });

  it('is called once for each plant that was created, with its principal', async () => {
    await create('{"id": 1, "name": "Monstera", "tag": "indoor"}', 'second');
    // Neither the same plant again, nor another one with its id, nor an invalid one.
    await create('{"id": 1, "name": "Monstera", "tag": "indoor"}');
    await create('{"id": 1, "name": "Aloe"}');
    await create('{"id": 2}');
    await Promise.all(Array.from({ length: 20 }, () => create('{"id": 3, "name": "Ficus"}')));
    await app.close();

    expect(gardener.told).toEqual([
      [1n, 'Monstera', 'indoor', 'token-2'],
      [3n, 'Ficus', undefined, 'token-1'],
    ]);
  });

  it('is logged and changes no answer if it fails', async () => {
    gardener.react = () => Promise.reject(new Error('The gardener is ill.'));

    expect(await create('{"id": 7, "name": "Monstera"}')).toEqual({ name: 'Monstera' });
    await app.close();

    expect(log.errors).toEqual([
      ['onPlantCreated failed for the plant 7', expect.stringContaining('The gardener is ill.'), 'PlantStore'],
    ]);
  });

  it('leads to error 503 when the plants of calls that do not end occupy all memory for requests', async () => {
    gardener.react = sleep;
    const name = 'x'.repeat(1_000_000);
    const createLarge = (id: number): Promise<unknown> => create(JSON.stringify({ id, name }));

    const answers: unknown[] = [];
    for (let id = 0; id < 30; id += 1) answers.push(await createLarge(id));

    const count = gardener.told.length;
    // There are 16 MiB for all, and each plant occupies 2 MB.
    expect([8, 9]).toContain(count);
    expect(answers.slice(0, count)).toEqual(Array.from({ length: count }, () => ({ name })));
    for (const answer of answers.slice(count)) expect(answer).toMatchObject({ error: 503 });
    wake();
    await new Promise(setImmediate);
    expect(await createLarge(101)).toEqual({ name });
  });

  it('delays no answer, and the application closes when it has ended', async () => {
    gardener.react = sleep;

    expect(await create(MONSTERA)).toEqual({ name: 'Monstera' });
    let isClosed = false;
    const closing = app.close().then(() => (isClosed = true));
    await once(app.getHttpServer(), 'close');
    await new Promise(setImmediate);
    expect(isClosed).toBe(false);
    wake();
    await closing;
  });

  it('may create other plants while the application closes', async () => {
    const plants = app.get(PlantsService);
    gardener.react = async () => {
      await sleep();
      const id = BigInt(gardener.told.length);
      if (id < 3n) await plants.create({ id: id + 1n, name: 'Ficus' });
    };

    await create(MONSTERA);
    const closing = app.close();
    await once(app.getHttpServer(), 'close');
    wake();
    await closing;

    expect(gardener.told.map(([id]) => id)).toEqual([1n, 2n, 3n]);
    expect(log.errors).toEqual([]);
  });
});
