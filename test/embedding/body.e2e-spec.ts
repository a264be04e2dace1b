import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { Controller, type DynamicModule, Module, Post, Put, Req, VersioningType } from '@nestjs/common';
import { RouterModule } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { PlantsModule, unparsedBody } from '../../src/index.js';
import {
  type Application,
  HostLog,
  newAdapter,
  newApplication,
  PLATFORMS,
  send,
} from '../support/hosts/application.js';

/** Routes of the host beside and below ours, and another method on our path; they answer with the body as the host's parser has left it. */
@Controller()
class OwnController {
  @Post(['plants/own', 'own/plants', 'other'])
  echo(@Req() { body }: { readonly body: unknown }): unknown {
    return { body };
  }

  @Put('plants')
  replace(@Req() { body }: { readonly body: unknown }): unknown {
    return { body };
  }
}

@Module({})
class HostModule {
  static with(...imports: DynamicModule[]): DynamicModule {
    const plants = PlantsModule.forRoot({
      repository: 'sqlite::memory:',
      authentication: { tokens: ['token'] },
      body: { limit: '1kb' },
    });
    return { module: HostModule, imports: [plants, ...imports], controllers: [OwnController] };
  }
}

const LARGE_ID = '{"id": 9007199254740993, "name": "Monstera"}';

describe.each(PLATFORMS)('On %s', (platform) => {
  let app: Application;
  let log: HostLog;

  afterEach(() => app.close());

  async function create(module = HostModule.with(), options: object = {}): Promise<void> {
    log = new HostLog();
    app = await newApplication(module, { adapter: newAdapter(platform), logger: log, ...options });
  }

  async function post(path: string, body = LARGE_ID, token = 'token'): Promise<unknown> {
    const answer = await send(app, { path, body, token });
    return answer.body;
  }

  /** Expects that the module reads the body: after the token was checked, with exact ids, and within its own limit. */
  async function expectBodyRead(path: string): Promise<void> {
    expect(await post(path)).toEqual({ name: 'Monstera' });
    expect(await post(path, '{', 'another')).toMatchObject({ error: 401 });
    expect(await post(path, '{')).toMatchObject({ error: 400 });
    expect(await post(path, `{"id": 1, "name": "${'x'.repeat(1_024)}"}`)).toMatchObject({ error: 413 });
    expect(log.warnings).toEqual([]);
  }

  describe('without a line in main.ts, reads the body', () => {
    it('of a request target in absolute form', async () => {
      await create();
      await app.listen(0, '127.0.0.1');
      const { port } = app.getHttpServer().address() as AddressInfo;
      const headers = { Authorization: 'Bearer token', 'Content-Type': 'application/json' };
      const options = { port, host: '127.0.0.1', method: 'POST', path: 'http://localhost/plants', headers };

      const [answer] = (await once(request(options).end(LARGE_ID), 'response')) as [IncomingMessage];

      expect(await json(answer)).toEqual({ name: 'Monstera' });
      expect(log.warnings).toEqual([]);
    });

    it('with a query', async () => {
      await create();

      await expectBodyRead('/plants?query');
    });

    it('below a prefix with slashes, beside versioned routes', async () => {
      await create();
      app.setGlobalPrefix('/Api/v1/').enableVersioning({ type: VersioningType.URI, defaultVersion: '1' });

      await expectBodyRead('/Api/v1/plants');
    });

    it.each([
      { method: 'POST', path: '/plants/own' },
      { method: 'POST', path: '/own/plants' },
      { method: 'POST', path: '/other' },
      { method: 'PUT', path: '/plants' },
    ])('and leaves that of $method $path to the application', async (question) => {
      await create();

      expect(await send(app, { ...question, body: '{"word": "leaf"}', token: null })).toMatchObject({
        body: { body: { word: 'leaf' } },
      });
    });
  });

  describe('reads the body at other spellings of the path that the router takes', () => {
    const routerOptions = { caseSensitive: false, ignoreTrailingSlash: true };
    // By default, Express takes them all, and Fastify none of them.
    const options = (): object => (platform === 'fastify' ? { adapter: new FastifyAdapter({ routerOptions }) } : {});

    it.each(['/Plants', '/plants/', '/PLANTS/?query'])('%s', async (path) => {
      await create(HostModule.with(), options());

      await expectBodyRead(path);
    });

    it('/API/Plants/ below a prefix', async () => {
      await create(HostModule.with(), options());
      app.setGlobalPrefix('api');

      await expectBodyRead('/API/Plants/');
    });

    it('/Garden/Plants/ with unparsedBody()', async () => {
      await create(HostModule.with(RouterModule.register([{ path: 'garden', module: PlantsModule }])), options());
      app.use('/garden/plants', unparsedBody());

      await expectBodyRead('/Garden/Plants/');
    });
  });

  describe('where RouterModule sets the path', () => {
    const path = '/garden/plants';
    const module = HostModule.with(RouterModule.register([{ path: 'garden', module: PlantsModule }]));

    it('refuses a body that a parser has read with error 500, and logs once which line to add', async () => {
      await create(module);

      for (const body of ['{"id": 1, "name": "Monstera"}', LARGE_ID]) {
        expect(await post(path, body)).toMatchObject({ error: 500 });
      }
      expect(log.errors.map(([message]) => message)).toEqual([
        'A body parser reads plants before PlantsModule, so they get error 500: ' +
          `call app.use('${path}', unparsedBody()) before it`,
      ]);
    });

    it('reads the body itself with unparsedBody()', async () => {
      await create(module);
      app.use(path, unparsedBody());

      await expectBodyRead(path);
    });
  });
});

it('On Express, refuses a body that a middleware of the application has read with error 500', async () => {
  const app = await newApplication(HostModule.with());
  app.use((request: IncomingMessage & { body?: unknown }, _response: unknown, next: () => void) => {
    void json(request).then((body) => {
      request.body = body;
      next();
    });
  });

  expect(await send(app, { body: LARGE_ID })).toMatchObject({ status: 400, body: { error: 500 } });
  await app.close();
});
