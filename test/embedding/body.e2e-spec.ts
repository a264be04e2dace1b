import { Controller, type DynamicModule, Module, Post, Req, VersioningType } from '@nestjs/common';
import { RouterModule } from '@nestjs/core';
import { PlantsModule, unparsedBody } from '../../src/index.js';
import {
  type Application,
  HostLog,
  newAdapter,
  newApplication,
  PLATFORMS,
  send,
} from '../support/hosts/application.js';

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
    it('with a query', async () => {
      await create();

      await expectBodyRead('/plants?query');
    });

    it('below a prefix with slashes, beside versioned routes', async () => {
      await create();
      app.setGlobalPrefix('/Api/v1/').enableVersioning({ type: VersioningType.URI, defaultVersion: '1' });

      await expectBodyRead('/Api/v1/plants');
    });

    it.each(['/plants/own', '/own/plants', '/other'])('and leaves that of %s to the application', async (path) => {
      await create();

      expect(await post(path, '{"word": "leaf"}', 'another')).toEqual({ body: { word: 'leaf' } });
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
        `Exact ids need app.use('${path}', unparsedBody()) in main.ts: the application has parsed a body first`,
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

  it('takes a parsed body at another spelling of the path as far as it is certain', async () => {
    await create();

    expect(await post(platform === 'express' ? '/Plants/' : '/%70lants')).toMatchObject({ error: 422 });
    expect(log.warnings).toEqual([expect.stringContaining("app.use('/plants', unparsedBody())")]);
  });
});
