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

// PlantsModule reads the body of its route itself, and keeps the parsers of the application away from it.

/**
 * Routes of the host beside and below ours, and another method on our path; they answer with the body as it was parsed.
 */
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
      body: { limit: 1_024 },
    });
    return { module: HostModule, imports: [plants, ...imports], controllers: [OwnController] };
  }
}

/** The host whose RouterModule sets the path /garden/plants. */
const inGarden = (): DynamicModule =>
  HostModule.with(RouterModule.register([{ path: 'garden', module: PlantsModule }]));

const LARGE_ID = '{"id": 9007199254740993, "name": "Monstera"}';

describe.each(PLATFORMS)('On %s', (platform) => {
  let app: Application;
  let log: HostLog;

  afterEach(() => app.close());

  async function create(module = HostModule.with(), adapter = newAdapter(platform)): Promise<void> {
    log = new HostLog();
    app = await newApplication(module, { adapter, logger: log });
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

  it('the module reads the body without a line in main.ts', async () => {
    await create();

    await expectBodyRead('/plants?query');
  });

  it('the module reads the body below a prefix with slashes, beside versioned routes', async () => {
    await create();
    app.setGlobalPrefix('/Api/v1/').enableVersioning({ type: VersioningType.URI, defaultVersion: '1' });

    await expectBodyRead('/Api/v1/plants');
  });

  it('the module reads the body of a request target in absolute form', async () => {
    await create();
    await app.listen(0, '127.0.0.1');
    const { port } = app.getHttpServer().address() as AddressInfo;
    const headers = { Authorization: 'Bearer token', 'Content-Type': 'application/json' };
    const options = { port, host: '127.0.0.1', method: 'POST', path: 'http://localhost/plants', headers };

    const [answer] = (await once(request(options).end(LARGE_ID), 'response')) as [IncomingMessage];

    expect(await json(answer)).toEqual({ name: 'Monstera' });
  });

  describe('the module reads the body at each spelling of the path that the router takes', () => {
    // By default, Express takes them all, and Fastify none of them.
    const routerOptions = { caseSensitive: false, ignoreTrailingSlash: true };
    const adapter = () => (platform === 'fastify' ? new FastifyAdapter({ routerOptions }) : newAdapter(platform));

    it.each(['/Plants', '/plants/', '/PLANTS/?query'])('such as %s', async (path) => {
      await create(HostModule.with(), adapter());

      await expectBodyRead(path);
    });

    it('with unparsedBody(), too', async () => {
      await create(inGarden(), adapter());
      app.setGlobalPrefix('api').use('/api/garden/plants', unparsedBody());

      await expectBodyRead('/API/Garden/Plants/');
    });
  });

  it.each([
    { method: 'POST', path: '/plants/own' },
    { method: 'POST', path: '/own/plants' },
    { method: 'POST', path: '/other' },
    { method: 'PUT', path: '/plants' },
  ])('the application reads the body of $method $path', async (question) => {
    await create();

    expect(await send(app, { ...question, body: '{"word": "leaf"}', token: null })).toMatchObject({
      body: { body: { word: 'leaf' } },
    });
  });

  it('at the path of RouterModule, a body that was parsed gets error 500, and the log says once which line to add', async () => {
    await create(inGarden());

    for (const body of ['{"id": 1, "name": "Monstera"}', LARGE_ID]) {
      expect(await post('/garden/plants', body)).toMatchObject({ error: 500 });
    }
    expect(log.errors.map(([message]) => message)).toEqual([
      'A body parser reads plants before PlantsModule, so they get error 500: ' +
        `call app.use('/garden/plants', unparsedBody()) before it`,
    ]);
  });

  it('with this line, the module reads the body', async () => {
    await create(inGarden());
    app.use('/garden/plants', unparsedBody());

    await expectBodyRead('/garden/plants');
  });

  it.each([{}, { exclude: ['plants'] }])('with this line for a prefix with %j, needed or not, too', async (options) => {
    const path = 'exclude' in options ? '/plants' : '/api/plants';
    await create();
    app.setGlobalPrefix('api', options).use(path, unparsedBody());

    await expectBodyRead(path);
  });
});
