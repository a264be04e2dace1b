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
  VersioningType,
} from '@nestjs/common';
import { NestFactory, RouterModule } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { ExpressAdapter } from '@nestjs/platform-express';
import { PlantsModule, unparsedBody } from '../../src/index.js';

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
  static with(...imports: DynamicModule[]): DynamicModule {
    return {
      module: HostModule,
      imports: [
        PlantsModule.forRoot({
          repository: 'sqlite::memory:',
          authentication: { tokens: ['token'] },
          body: { limit: '1kb' },
        }),
        ...imports,
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

describe.each(['express', 'fastify'])('On %s', (platform) => {
  let app: INestApplication<Server>;
  let warnings: string[];

  afterEach(() => app.close());

  async function create(module = HostModule.with(), options: object = {}): Promise<void> {
    warnings = [];
    const ignore = (): void => undefined;
    const logger = { log: ignore, error: ignore, warn: (message: string) => void warnings.push(message) };
    const adapter = platform === 'express' ? new ExpressAdapter() : new FastifyAdapter();
    app = await NestFactory.create(module, adapter, { logger, abortOnError: false, ...options });
  }

  const post = (path: string, body?: string, token?: string): Promise<Answer> => send(app, path, body, token);

  /** Expects that the module reads the body: after the token was checked, with exact ids, and within its own limit. */
  async function expectBodyRead(path: string): Promise<void> {
    expect((await post(path)).body).toEqual({ name: 'Monstera' });
    expect((await post(path, '{', 'another')).body).toMatchObject({ error: 401 });
    expect((await post(path, '{')).body).toMatchObject({ error: 400 });
    expect((await post(path, `{"id": 1, "name": "${'x'.repeat(1_024)}"}`)).body).toMatchObject({ error: 413 });
    expect(warnings).toEqual([]);
  }

  describe('without a line in main.ts, PlantsModule reads the body', () => {
    it.each<[string, string, (app: INestApplication) => void]>([
      ['with a query', '/plants?query', () => undefined],
      ['below a prefix with slashes', '/Api/v1/plants', (app) => void app.setGlobalPrefix('/Api/v1/')],
      [
        'beside versioned routes',
        '/plants',
        (app) => void app.enableVersioning({ type: VersioningType.URI, defaultVersion: '1' }),
      ],
    ])('%s', async (_where, path, configure) => {
      await create();
      configure(app);

      await expectBodyRead(path);
    });

    it('in an application of @nestjs/testing', async () => {
      const module = await Test.createTestingModule({ imports: [HostModule.with()] }).compile();
      app =
        platform === 'express' ? module.createNestApplication() : module.createNestApplication(new FastifyAdapter());

      expect((await post('/plants')).body).toEqual({ name: 'Monstera' });
    });

    it('and leaves that of other routes to the application', async () => {
      await create();

      for (const path of ['/plants/own', '/own/plants', '/other']) {
        expect((await post(path, '{"word": "leaf"}', 'another')).body).toEqual({ body: { word: 'leaf' } });
      }
      expect(warnings).toEqual([]);
    });
  });

  describe('where RouterModule sets the path', () => {
    const path = '/garden/plants';

    function createBelowGarden(options?: object): Promise<void> {
      return create(HostModule.with(RouterModule.register([{ path: 'garden', module: PlantsModule }])), options);
    }

    it('takes a parsed body as far as it is certain, and logs once which line to add', async () => {
      await createBelowGarden();

      expect((await post(path, '{"id": 9007199254740991, "name": "Monstera"}')).body).toEqual({ name: 'Monstera' });
      expect((await post(path)).body).toMatchObject({
        error: 422,
        message: expect.stringContaining('rounded') as string,
      });
      expect(warnings).toEqual([
        `Exact ids need app.use('${path}', unparsedBody()) in main.ts: the application has parsed a body first`,
      ]);
    });

    it('reads the body itself with unparsedBody()', async () => {
      await createBelowGarden();
      app.use(path, unparsedBody());

      await expectBodyRead(path);
    });

    it('has exact ids with rawBody', async () => {
      await createBelowGarden({ rawBody: true });

      expect((await post(path)).body).toEqual({ name: 'Monstera' });
      expect((await post(path, '{"id": 9007199254740992, "name": "Aloe"}')).body).toEqual({ name: 'Aloe' });
      expect(warnings).toEqual([]);
    });
  });

  it('takes a parsed body at another spelling of the path as far as it is certain', async () => {
    await create();
    const path = platform === 'express' ? '/Plants/' : '/%70lants';

    expect((await post(path, '{"id": 1, "name": "Monstera"}')).body).toEqual({ name: 'Monstera' });
    expect((await post(path)).body).toMatchObject({ error: 422 });
    expect(warnings).toEqual([expect.stringContaining("app.use('/plants', unparsedBody())")]);
  });
});
