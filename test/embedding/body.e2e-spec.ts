import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer, json } from 'node:stream/consumers';
import { Controller, type DynamicModule, Module, Post, Put, Req, RequestMethod, VersioningType } from '@nestjs/common';
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

  describe('without a line in main.ts, PlantsModule reads the body', () => {
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
      { exclude: ['plants'], path: '/plants' },
      { exclude: [{ path: '/pl*rest', method: RequestMethod.POST }], path: '/plants' },
      { exclude: [{ path: 'plants', method: RequestMethod.GET }], path: '/api/plants' },
    ])('with a prefix that excludes $exclude', async ({ exclude, path }) => {
      await create();
      app.setGlobalPrefix('api', { exclude });

      await expectBodyRead(path);
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

    it('which middleware of the application has decoded', async () => {
      await create();
      app.use(({ headers }: IncomingMessage, _response: unknown, next: () => void) => {
        delete headers['content-encoding'];
        next();
      });
      await app.listen(0, '127.0.0.1');
      const headers = { 'content-type': 'application/json', 'content-encoding': 'own', authorization: 'Bearer token' };
      const answer = await fetch(`${await app.getUrl()}/plants`, { method: 'POST', headers, body: LARGE_ID });

      expect(await answer.json()).toEqual({ name: 'Monstera' });
    });

    // fetch writes all names in small letters.
    it('whatever the letter case of its headers, and whatever they hold', async () => {
      await create();
      await app.listen(0, '127.0.0.1');
      const { port } = app.getHttpServer().address() as AddressInfo;
      const listing = ['X-First', 'content-type', 'X-Second', 'content-length', 'X-Third', 'transfer-encoding'];
      const headers = [
        ...listing,
        'Host',
        'plants',
        'Authorization',
        'Bearer token',
        'Content-Type',
        'application/json',
      ];
      for (const framing of [
        ['Content-Length', `${LARGE_ID.length}`],
        ['Transfer-Encoding', 'chunked'],
      ]) {
        const options = { port, host: '127.0.0.1', method: 'POST', path: '/plants', headers: [...headers, ...framing] };
        const [answer] = (await once(request(options).end(LARGE_ID), 'response')) as [IncomingMessage];

        expect(await json(answer)).toEqual({ name: 'Monstera' });
      }
    });
  });

  describe('at another spelling of the path that the router takes', () => {
    const routerOptions = { caseSensitive: false, ignoreTrailingSlash: true };
    const options = (): object => (platform === 'fastify' ? { adapter: new FastifyAdapter({ routerOptions }) } : {});

    it.each(['/Plants', '/plants/'])('takes a parsed body as far as it is certain: %s', async (path) => {
      await create(HostModule.with(), options());

      expect(await post(path, '{"id": 9007199254740991, "name": "Monstera"}')).toEqual({ name: 'Monstera' });
      expect(await post(path)).toMatchObject({ error: 422, message: expect.stringContaining('rounded') as string });
      expect(log.warnings).toEqual([
        expect.stringMatching(/: add app\.use\('\/plants', unparsedBody\(\)\) to main\.ts, /),
      ]);
    });

    it('reads the body itself with unparsedBody()', async () => {
      await create(HostModule.with(), options());
      app.use('/plants', unparsedBody());

      await expectBodyRead('/Plants/');
    });
  });

  describe('where RouterModule sets the path', () => {
    const path = '/garden/plants';
    const module = HostModule.with(RouterModule.register([{ path: 'garden', module: PlantsModule }]));

    it('takes a parsed body as far as it is certain, and logs once which line to add', async () => {
      await create(module);

      expect(await post(path, '{"id": 9007199254740991, "name": "Monstera"}')).toEqual({ name: 'Monstera' });
      expect(await post(path)).toMatchObject({ error: 422, message: expect.stringContaining('rounded') as string });
      expect(log.warnings).toEqual([
        'The application has parsed a plant, so ids beyond 9007199254740991 are refused: ' +
          `add app.use('${path}', unparsedBody()) to main.ts, before all body parsers`,
      ]);
    });

    it('reads the body itself with unparsedBody()', async () => {
      await create(module);
      app.use(path, unparsedBody());

      await expectBodyRead(path);
    });

    it('has exact ids with rawBody', async () => {
      await create(module, { rawBody: true });

      expect(await post(path)).toEqual({ name: 'Monstera' });
      expect(await post(path, '{"id": 9007199254740992, "name": "Aloe"}')).toEqual({ name: 'Aloe' });
      expect(log.warnings).toEqual([]);
    });
  });
});

it.each([
  { what: 'an escaped spelling of the path', prefix: '', path: '/%70lants' },
  { what: 'a prefix with parameters', prefix: ':garden', path: '/mine/plants' },
])('On Fastify, takes a parsed body at $what as far as it is certain', async ({ prefix, path }) => {
  const app = await newApplication(HostModule.with(), { adapter: new FastifyAdapter() });
  app.setGlobalPrefix(prefix);

  expect(await send(app, { path })).toMatchObject({ body: { name: 'Monstera' } });
  expect(await send(app, { path, body: LARGE_ID })).toMatchObject({ body: { error: 422 } });
  await app.close();
});

describe('On Express, behind a body parser of the host', () => {
  it('takes the bytes that a middleware has read into rawBody', async () => {
    const app = await newApplication(HostModule.with());
    app.use((request: IncomingMessage & { rawBody?: Buffer }, _response: unknown, next: () => void) => {
      void buffer(request).then((bytes) => {
        request.rawBody = bytes;
        next();
      });
    });

    expect(await send(app, { body: LARGE_ID })).toMatchObject({ status: 200, body: { name: 'Monstera' } });
    await app.close();
  });

  it('does not advise the line that is there, but to move it', async () => {
    const log = new HostLog();
    const module = HostModule.with(RouterModule.register([{ path: 'garden', module: PlantsModule }]));
    const app = await newApplication(module, { logger: log });
    app.use((request: IncomingMessage & { body?: unknown }, _response: unknown, next: () => void) => {
      void json(request).then((body) => {
        request.body = body;
        next();
      });
    });
    app.use('/garden/plants', unparsedBody());

    expect(await send(app, { path: '/garden/plants', body: LARGE_ID })).toMatchObject({ body: { error: 422 } });
    expect(log.warnings).toEqual([
      expect.stringMatching(/: move app\.use\('\/garden\/plants', unparsedBody\(\)\) up, before all body parsers$/),
    ]);
    await app.close();
  });
});
