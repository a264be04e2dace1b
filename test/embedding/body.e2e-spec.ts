import type { Server } from 'node:http';
import {
  Controller,
  type DynamicModule,
  type INestApplication,
  Module,
  Post,
  Req,
  RequestMethod,
  VersioningType,
} from '@nestjs/common';
import { NestFactory, RouterModule } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { ExpressAdapter } from '@nestjs/platform-express';
import request from 'supertest';
import { PlantsModule, type PlantsRegistration, unparsedBody } from '../../src/index.js';

/** Routes of the host beside and below ours; they answer with the body as the host's parser has left it. */
@Controller()
class OwnController {
  @Post(['plants/own', 'own/plants', 'other'])
  echo(@Req() { body }: { readonly body: unknown }): unknown {
    return { body };
  }
}

@Module({})
class HostModule {
  static with(registration: PlantsRegistration = {}): DynamicModule {
    return {
      module: HostModule,
      imports: [
        PlantsModule.forRoot({
          repository: 'sqlite::memory:',
          authentication: { tokens: ['token'] },
          body: { limit: '1kb' },
          ...registration,
        }),
      ],
      controllers: [OwnController],
    };
  }
}

const LARGE_ID = '{"id": 9007199254740993, "name": "Monstera"}';

describe.each(['express', 'fastify'])('Without a line in main.ts on %s, PlantsModule reads the body', (platform) => {
  let app: INestApplication<Server>;
  let warnings: string[];

  afterEach(() => app.close());

  async function create(module: DynamicModule): Promise<void> {
    warnings = [];
    const ignore = (): void => undefined;
    const logger = { log: ignore, error: ignore, warn: (message: string) => void warnings.push(message) };
    const adapter = platform === 'express' ? new ExpressAdapter() : new FastifyAdapter();
    app = await NestFactory.create(module, adapter, { logger, abortOnError: false });
  }

  async function post(path: string, body = LARGE_ID, token = 'token'): Promise<request.Response> {
    await app.init();
    if (platform === 'fastify') await (app.getHttpAdapter() as FastifyAdapter).getInstance().ready();
    return request(app.getHttpServer()).post(path).set('Authorization', `Bearer ${token}`).type('json').send(body);
  }

  it.each<[string, string, PlantsRegistration, (app: INestApplication) => void]>([
    ['at its default path', '/plants', {}, () => undefined],
    ['at another path', '/garden/plants', { path: 'garden/plants' }, () => undefined],
    ['below a prefix', '/api/plants', {}, (app) => void app.setGlobalPrefix('api')],
    ['below a prefix with slashes', '/api/v1/plants', {}, (app) => void app.setGlobalPrefix('/api/v1/')],
    [
      'excluded from the prefix',
      '/plants',
      {},
      (app) => void app.setGlobalPrefix('api', { exclude: [{ path: 'plants', method: RequestMethod.POST }] }),
    ],
    [
      'beside versioned routes',
      '/plants',
      {},
      (app) => void app.enableVersioning({ type: VersioningType.URI, defaultVersion: '1' }),
    ],
  ])('%s', async (_where, path, registration, configure) => {
    await create(HostModule.with(registration));
    configure(app);

    expect((await post(path)).body).toEqual({ name: 'Monstera' });
    expect((await post(`${path}?query`)).body).toEqual({ name: 'Monstera' });
    expect((await post(path, '{', 'another')).body).toMatchObject({ error: 401 });
    expect((await post(path, '{')).body).toMatchObject({ error: 400 });
    expect((await post(path, `{"id": 1, "name": "${'x'.repeat(1_024)}"}`)).body).toMatchObject({ error: 413 });
  });

  it.each(platform === 'express' ? ['/plants/', '/Plants', '/PLANTS/?query'] : ['/%70lants'])(
    'at %s, which the router serves as well',
    async (path) => {
      await create(HostModule.with());

      expect((await post(path)).body).toEqual({ name: 'Monstera' });
      expect((await post(path, '{', 'another')).body).toMatchObject({ error: 401 });
    },
  );

  it('and leaves that of other routes to the application', async () => {
    await create(HostModule.with());

    for (const path of ['/plants/own', '/own/plants', '/other']) {
      expect((await post(path, '{"word": "leaf"}')).body).toEqual({ body: { word: 'leaf' } });
    }
    expect(warnings).toEqual([]);
  });

  it('in an application of @nestjs/testing', async () => {
    const module = await Test.createTestingModule({ imports: [HostModule.with()] }).compile();
    app = platform === 'express' ? module.createNestApplication() : module.createNestApplication(new FastifyAdapter());

    expect((await post('/plants')).body).toEqual({ name: 'Monstera' });
  });

  it('where RouterModule sets the path, with unparsedBody()', async () => {
    await create({
      ...HostModule.with(),
      imports: [
        ...(HostModule.with().imports ?? []),
        RouterModule.register([{ path: 'garden', module: PlantsModule }]),
      ],
    });
    app.use('/garden/plants', unparsedBody());

    expect((await post('/garden/plants')).body).toEqual({ name: 'Monstera' });
    expect(warnings).toEqual([]);
  });

  it('and unparsedBody() warns once if nothing serves its path', async () => {
    await create(HostModule.with());
    app.use('/nowhere', unparsedBody());

    expect((await post('/nowhere')).status).toBe(404);
    expect((await post('/nowhere')).status).toBe(404);
    expect(warnings).toEqual([
      'unparsedBody() is registered for a path that nothing serves: give it the path of PlantsModule',
    ]);
  });
});

describe('A body that a parser of the host has read before PlantsModule', () => {
  it('has exact ids up to 2^53, and error 422 beyond', async () => {
    const adapter = new ExpressAdapter();
    adapter.useBodyParser('json', false);
    const app = await NestFactory.create(HostModule.with(), adapter, { logger: false });
    await app.init();
    const post = (body: string) =>
      request(app.getHttpServer() as Server)
        .post('/plants')
        .set('Authorization', 'Bearer token')
        .type('json')
        .send(body);

    expect((await post('{"id": 9007199254740991, "name": "Monstera"}')).body).toEqual({ name: 'Monstera' });
    expect((await post(LARGE_ID)).body).toMatchObject({
      error: 422,
      message: expect.stringContaining('rounded') as string,
    });
    await app.close();
  });
});
