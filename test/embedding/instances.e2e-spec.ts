import { EventEmitter, once } from 'node:events';
import type { Server } from 'node:http';
import { type DynamicModule, type INestApplication, Inject, Injectable, Module } from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import request from 'supertest';
import {
  BearerAuthGuard,
  getPlantsServiceToken,
  PlantsModule,
  type PlantsRegistration,
  PlantsService,
} from '../../src/index.js';
import { newStore, type Store } from '../support/store.js';

/** A provider of the host that uses both instances. */
@Injectable()
class Gardener {
  constructor(
    readonly plants: PlantsService,
    @Inject(getPlantsServiceToken('greenhouse')) readonly greenhouse: PlantsService,
  ) {}
}

function host(...imports: DynamicModule[]): DynamicModule {
  @Module({})
  class HostModule {}
  return { module: HostModule, imports };
}

function create(app: INestApplication<Server>, path: string, token: string, id: string) {
  return request(app.getHttpServer())
    .post(path)
    .set('Authorization', `Bearer ${token}`)
    .type('json')
    .send(`{"id": ${id}, "name": "${path}"}`);
}

describe.each(['express', 'fastify'])('Two instances of PlantsModule on %s', (platform) => {
  let stores: Store[];
  let app: INestApplication<Server>;

  const outdoors = (): DynamicModule =>
    PlantsModule.forRoot({ repository: stores[0]?.url ?? '', authentication: { tokens: ['outdoors'] } });
  const greenhouse = (): DynamicModule =>
    PlantsModule.forRootAsync({
      path: '/greenhouse/plants/',
      name: 'greenhouse',
      useFactory: () => ({
        repository: stores[1]?.url ?? '',
        authentication: { tokens: ['greenhouse'] },
        realm: 'greenhouse',
      }),
    });

  async function start(module: DynamicModule): Promise<void> {
    const adapter = platform === 'express' ? undefined : new FastifyAdapter();
    const options = { logger: false, abortOnError: false } as const;
    app = await (adapter ? NestFactory.create(module, adapter, options) : NestFactory.create(module, options));
    await app.init();
    if (adapter) await adapter.getInstance().ready();
  }

  beforeEach(async () => {
    stores = [await newStore(), await newStore()];
  });

  afterEach(async () => {
    await app.close();
    for (const store of stores) await store.close();
  });

  it('have a path, a database, tokens and a realm each, and exact ids', async () => {
    await start(host(outdoors(), greenhouse()));

    expect((await create(app, '/plants', 'outdoors', '9007199254740993')).status).toBe(200);
    expect((await create(app, '/greenhouse/plants', 'greenhouse', '9007199254740995')).status).toBe(200);
    expect((await create(app, '/plants', 'greenhouse', '3')).headers['www-authenticate']).toBe(
      'Bearer realm="plants", error="invalid_token"',
    );
    expect((await create(app, '/greenhouse/plants', 'outdoors', '4')).headers['www-authenticate']).toBe(
      'Bearer realm="greenhouse", error="invalid_token"',
    );
    expect(await stores[0]?.rows()).toEqual([{ id: 9007199254740993n, name: '/plants', tag: null }]);
    expect(await stores[1]?.rows()).toEqual([{ id: 9007199254740995n, name: '/greenhouse/plants', tag: null }]);
  });

  it('have a service each that the host injects', async () => {
    const module = host(outdoors(), greenhouse());
    await start({ ...module, providers: [Gardener] });
    const gardener = app.get(Gardener);

    await gardener.plants.create({ id: 1n, name: 'Rose' });
    await gardener.greenhouse.create({ id: 1n, name: 'Orchid' });

    expect(await stores[0]?.rows()).toEqual([{ id: 1n, name: 'Rose', tag: null }]);
    expect(await stores[1]?.rows()).toEqual([{ id: 1n, name: 'Orchid', tag: null }]);
  });

  it('verify a token themselves if the guard of one is global', async () => {
    const module = host(outdoors(), greenhouse());
    await start({ ...module, providers: [{ provide: APP_GUARD, useExisting: BearerAuthGuard }] });

    const answer = await create(app, '/greenhouse/plants', 'outdoors', '1');

    expect(answer.body).toMatchObject({ error: 401 });
    expect(await stores[1]?.rows()).toEqual([]);
  });

  it('belong to one application if both are global', async () => {
    const options = { repository: 'sqlite::memory:', authentication: false, isGlobal: true } as const;
    const user = host();
    await start(
      host(
        PlantsModule.forRoot(options),
        PlantsModule.forRoot({ ...options, path: 'greenhouse', name: 'greenhouse' }),
        { ...user, providers: [Gardener] },
      ),
    );

    expect(app.get(Gardener, { strict: false }).plants).not.toBe(app.get(Gardener, { strict: false }).greenhouse);
  });
});

describe('When an application with two instances of PlantsModule closes', () => {
  it.each([['first'], ['last']])(
    'calls of onPlantCreated still create plants in both if the instance that calls is imported %s',
    async (place) => {
      const stores = [await newStore(), await newStore()];
      const errors: unknown[] = [];
      const logger = { log: () => undefined, warn: () => undefined, error: (...line: unknown[]) => errors.push(line) };
      const begun = new EventEmitter();
      let wake = (): void => undefined;
      const rest = new Promise<void>((resolve) => (wake = resolve));
      // The first plant leads to the second one in the greenhouse, and that to the third.
      const outdoors = PlantsModule.forRoot({
        repository: stores[0]?.url ?? '',
        authentication: false,
        onPlantCreated: async ({ id }) => {
          if (id !== 1n) return;
          begun.emit('call');
          await rest;
          await app.get(Gardener, { strict: false }).greenhouse.create({ id: 2n, name: 'Orchid' });
        },
      });
      const greenhouse = PlantsModule.forRoot({
        name: 'greenhouse',
        path: 'greenhouse',
        repository: stores[1]?.url ?? '',
        authentication: false,
        onPlantCreated: () => app.get(Gardener, { strict: false }).plants.create({ id: 3n, name: 'Ficus' }),
      });
      const imports = place === 'first' ? [outdoors, greenhouse] : [greenhouse, outdoors];
      const app: INestApplication<Server> = await NestFactory.create(
        { ...host(...imports), providers: [Gardener] },
        { logger, abortOnError: false },
      );
      const { plants } = (await app.init()).get(Gardener, { strict: false });
      const called = once(begun, 'call');

      await plants.create({ id: 1n, name: 'Rose' });
      await called;
      const closing = app.close();
      for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
      wake();
      await closing;

      expect(errors).toEqual([]);
      expect((await stores[0]?.rows())?.map(({ id }) => id)).toEqual([1n, 3n]);
      expect((await stores[1]?.rows())?.map(({ id }) => id)).toEqual([2n]);
      for (const store of stores) await store.close();
    },
  );
});

describe.each(['express', 'fastify'])('Two instances of PlantsModule on %s do not start', (platform) => {
  const options = { repository: 'sqlite::memory:', authentication: false } as const;

  it.each<[string, PlantsRegistration, PlantsRegistration, string]>([
    ['with one path', {}, { name: 'greenhouse' }, 'the path plants'],
    ['with one path, spelt in two ways', {}, { path: '/plants/', name: 'greenhouse' }, 'the path plants'],
    [
      'with paths that differ only in case',
      {},
      { path: 'Plants', name: 'greenhouse' },
      'the paths Plants and plants, which differ only in case',
    ],
    ['without a name', {}, { path: 'greenhouse' }, 'no name'],
    [
      'with one name',
      { path: 'first', name: 'greenhouse' },
      { path: 'second', name: 'greenhouse' },
      'the name greenhouse',
    ],
    [
      'with names that make one class name',
      { path: 'first', name: 'green house' },
      { path: 'second', name: 'green-house' },
      "the names 'green-house' and 'green house', which make one class name, GreenHousePlantsController",
    ],
    [
      'with a name that makes the class name of the instance without one',
      {},
      { path: 'second', name: '-' },
      "the names '-' and none, which make one class name, PlantsController",
    ],
  ])('%s', async (_with, first, second, resemblance) => {
    const module = host(
      PlantsModule.forRoot({ ...options, ...first }),
      PlantsModule.forRoot({ ...options, ...second }),
    );
    const adapter = platform === 'express' ? new ExpressAdapter() : new FastifyAdapter();
    const start = async (): Promise<void> => {
      const app = await NestFactory.create(module, adapter, { logger: false, abortOnError: false });
      await app.init().finally(() => app.close());
    };

    await expect(start()).rejects.toThrow(
      new TypeError(`PlantsModule: two instances have ${resemblance}: give each a path and a name of its own`),
    );
  });
});

describe('Two instances of PlantsModule', () => {
  const options = { repository: 'sqlite::memory:', authentication: false } as const;

  it('are one if two modules import the same registration', async () => {
    const plants = PlantsModule.forRoot(options);
    const app = await NestFactory.create(host(host(plants), host(plants)), { logger: false, abortOnError: false });

    await expect(app.init()).resolves.toBe(app);
    await app.close();
  });
});
