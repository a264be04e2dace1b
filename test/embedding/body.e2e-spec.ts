import { once } from 'node:events';
import { type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
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

interface Answer {
  readonly status: number | undefined;
  readonly body: unknown;
}

/** Sends a request with this target, which may be a whole URL, and starts the application before the first one. */
async function send(app: INestApplication<Server>, path: string, body = LARGE_ID, token = 'token'): Promise<Answer> {
  if (!app.getHttpServer().listening) await app.listen(0, '127.0.0.1');
  const { port } = app.getHttpServer().address() as AddressInfo;
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const outgoing = request({ port, host: '127.0.0.1', method: 'POST', path, headers, agent: false }).end(body);
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  return { status: answer.statusCode, body: await json(answer) };
}

describe.each(['express', 'fastify'])('Without a line in main.ts on %s, PlantsModule reads the body', (platform) => {
  let app: INestApplication<Server>;
  let warnings: string[];

  afterEach(() => app.close());

  async function create(module: DynamicModule, routerOptions: object = {}): Promise<void> {
    warnings = [];
    const ignore = (): void => undefined;
    const logger = { log: ignore, error: ignore, warn: (message: string) => void warnings.push(message) };
    const adapter = platform === 'express' ? new ExpressAdapter() : new FastifyAdapter({ routerOptions });
    app = await NestFactory.create(module, adapter, { logger, abortOnError: false });
  }

  const post = (path: string, body?: string, token?: string): Promise<Answer> => send(app, path, body, token);

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
      'excluded from the prefix with a slash at its end',
      '/plants',
      {},
      (app) => void app.setGlobalPrefix('api', { exclude: ['/plants/'] }),
    ],
    [
      'excluded from the prefix by a pattern in another case',
      '/plants',
      {},
      (app) => void app.setGlobalPrefix('api', { exclude: ['PL{*rest}'] }),
    ],
    ['below a prefix with an upper-case letter', '/Api/plants', {}, (app) => void app.setGlobalPrefix('Api')],
    [
      'beside versioned routes',
      '/plants',
      {},
      (app) => void app.enableVersioning({ type: VersioningType.URI, defaultVersion: '1' }),
    ],
  ])('%s', async (_where, path, registration, configure) => {
    await create(HostModule.with(registration));
    configure(app);

    await expectBodyRead(path);
    await expectBodyRead(`${path}?query`);
  });

  const spellings: [path: string, routerOptions: object][] =
    platform === 'express'
      ? [
          ['/plants/', {}],
          ['/Plants', {}],
          ['/PLANTS/?query', {}],
        ]
      : [
          ['/%70lants', {}],
          ['/plants/', { ignoreTrailingSlash: true }],
          ['/Plants', { caseSensitive: false }],
          ['//plants', { ignoreDuplicateSlashes: true }],
          ['/plants;query', { useSemicolonDelimiter: true }],
        ];

  it.each([...spellings, ['http://garden.example/plants', {}], ['http://garden.example/plants?query', {}]])(
    'at %s, which the router serves as well',
    async (path, routerOptions: object) => {
      await create(HostModule.with(), routerOptions);

      await expectBodyRead(path);
    },
  );

  /** Expects that the module reads the body: after the token was checked, with exact ids, and within its own limit. */
  async function expectBodyRead(path: string): Promise<void> {
    expect((await post(path)).body).toEqual({ name: 'Monstera' });
    expect((await post(path, '{', 'another')).body).toMatchObject({ error: 401 });
    expect((await post(path, '{')).body).toMatchObject({ error: 400 });
    expect((await post(path, `{"id": 1, "name": "${'x'.repeat(1_024)}"}`)).body).toMatchObject({ error: 413 });
  }

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
    const app: INestApplication<Server> = await NestFactory.create(HostModule.with(), adapter, { logger: false });
    expect((await send(app, '/plants', '{"id": 9007199254740991, "name": "Monstera"}')).body).toEqual({
      name: 'Monstera',
    });
    expect((await send(app, '/plants')).body).toMatchObject({
      error: 422,
      message: expect.stringContaining('rounded') as string,
    });
    await app.close();
  });
});
