import type { Server } from 'node:http';
import { type DynamicModule, type INestApplication, Inject, Injectable, Module } from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import request from 'supertest';
import { BearerAuthGuard, getPlantsServiceToken, PlantsModule, PlantsService } from '../../src/index.js';
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

describe('Two instances of PlantsModule', () => {
  const options = { repository: 'sqlite::memory:', authentication: false } as const;

  it.each([
    ['with one path', {}, 'PlantsModule: two instances have the path plants: give each a path and a name of its own'],
    [
      'with one path, spelt in two ways',
      { path: '/plants', name: 'greenhouse' },
      'PlantsModule: two instances have the path plants: give each a path and a name of its own',
    ],
    [
      'without a name',
      { path: 'greenhouse' },
      'PlantsModule: two instances have no name: give each a path and a name of its own',
    ],
  ])('%s do not start', async (_with, second, message) => {
    const module = host(PlantsModule.forRoot(options), PlantsModule.forRoot({ ...options, ...second }));
    const app = await NestFactory.create(module, { logger: false, abortOnError: false });

    await expect(app.init()).rejects.toThrow(new TypeError(message));
    await app.close();
  });

  it('with one name do not start', async () => {
    const module = host(
      PlantsModule.forRoot({ ...options, path: 'first', name: 'greenhouse' }),
      PlantsModule.forRoot({ ...options, path: 'second', name: 'greenhouse' }),
    );
    const app = await NestFactory.create(module, { logger: false, abortOnError: false });

    await expect(app.init()).rejects.toThrow('two instances have the name greenhouse');
    await app.close();
  });

  it('are one if two modules import the same registration', async () => {
    const plants = PlantsModule.forRoot(options);
    const app = await NestFactory.create(host(host(plants), host(plants)), { logger: false, abortOnError: false });

    await expect(app.init()).resolves.toBe(app);
    await app.close();
  });
});
