import { once } from 'node:events';
import { type IncomingMessage, request, type ServerResponse } from 'node:http';
import { connect } from 'node:http2';
import { json, text } from 'node:stream/consumers';
import type { AddressInfo } from 'node:net';
import { type DynamicModule, HttpException, Injectable, Module } from '@nestjs/common';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import {
  type Outcome,
  PlantRepository,
  PlantsModule,
  type PlantsModuleOptions,
  type Principal,
  RepositoryUnavailableError,
  type StoredPlant,
  TokenVerifier,
} from '../../src/index.js';
import {
  type Application,
  MONSTERA,
  newAdapter,
  newApplication,
  PLATFORMS,
  send,
} from '../support/hosts/application.js';

const OPTIONS: PlantsModuleOptions = {
  repository: 'sqlite::memory:',
  authentication: { tokens: ['token'] },
  realm: 'the garden',
};

@Injectable()
class Options {
  create(): PlantsModuleOptions {
    return OPTIONS;
  }
}

@Module({ providers: [Options], exports: [Options] })
class OptionsModule {}

/** A provider that a repository and a verifier of the host inject. */
@Injectable()
class Shelf {
  readonly ids: bigint[] = [];
  closed = 0;
}

@Module({ providers: [Shelf], exports: [Shelf] })
class ShelfModule {}

/** Has room for one plant. */
class ShelfRepository extends PlantRepository {
  constructor(private readonly shelf: Shelf) {
    super();
  }

  override add(batch: readonly StoredPlant[]): Promise<readonly Outcome[]> {
    if (this.shelf.ids.length > 0) throw new RepositoryUnavailableError('full');
    this.shelf.ids.push(...batch.map(({ id }) => id));
    return Promise.resolve(batch.map(() => 'created'));
  }

  override close(): Promise<void> {
    this.shelf.closed += 1;
    return Promise.resolve();
  }
}

/** Takes each token for a scope, as long as the repository is open. */
class ScopedVerifier extends TokenVerifier {
  constructor(private readonly shelf: Shelf) {
    super();
  }

  override verify(token: string): Principal | undefined {
    return this.shelf.closed > 0 ? undefined : { name: 'host', scopes: [token] };
  }
}

describe('PlantsModule', () => {
  let app: Application;

  afterEach(() => app.close());

  it.each<[string, DynamicModule]>([
    ['forRoot', PlantsModule.forRoot(OPTIONS)],
    ['useClass', PlantsModule.forRootAsync({ useClass: Options })],
    ['useExisting', PlantsModule.forRootAsync({ imports: [OptionsModule], useExisting: Options })],
  ])('has its options from %s', async (_form, module) => {
    app = await newApplication(module);

    expect(await send(app)).toMatchObject({ status: 200, challenge: null });
    expect(await send(app, { token: null })).toMatchObject({ status: 400, challenge: 'Bearer realm="the garden"' });
  });

  it('uses a repository and a verifier with dependencies of the host, and closes the repository once', async () => {
    app = await newApplication(
      PlantsModule.forRootAsync({
        imports: [ShelfModule],
        inject: [Shelf],
        useFactory: (shelf: Shelf) => ({
          repository: new ShelfRepository(shelf),
          authentication: { verifier: new ScopedVerifier(shelf) },
          scope: 'garden',
        }),
      }),
    );

    expect((await send(app, { token: 'another-scope' })).body).toMatchObject({ error: 403 });
    expect((await send(app, { token: 'garden' })).body).toEqual({ name: 'Monstera' });
    expect((await send(app, { token: 'garden' })).body).toMatchObject({ error: 503 });
    await app.close();
    await app.close();
    expect(app.get(Shelf, { strict: false })).toEqual({ ids: [1n], closed: 1 });
  });

  it("leaves authentication to the host's guard with authentication: false", async () => {
    app = await newApplication(PlantsModule.forRoot({ ...OPTIONS, authentication: false }));

    expect(await send(app, { token: null })).toMatchObject({ status: 200, challenge: null });
  });

  it.each([
    { status: 429, error: 429, message: /^There were / },
    { status: 402, error: 400, message: /^The request was refused with status 402\.$/ },
  ])("answers $status of a host's guard with error $error, and keeps its Retry-After", async (row) => {
    const { status, error, message } = row;
    app = await newApplication(PlantsModule.forRoot(OPTIONS));
    app.useGlobalGuards({
      canActivate(context) {
        context.switchToHttp().getResponse<ServerResponse>().setHeader('Retry-After', '7');
        throw new HttpException('The gardener says no.', status);
      },
    });

    expect(await send(app)).toMatchObject({
      status: 400,
      retryAfter: '7',
      body: { error, message: expect.stringMatching(message) as unknown },
    });
  });

  it.each(PLATFORMS)('refuses two Authorization headers on %s', async (platform) => {
    app = await newApplication(PlantsModule.forRoot(OPTIONS), { adapter: newAdapter(platform) });
    await app.listen(0, '127.0.0.1');
    const { port } = app.getHttpServer().address() as AddressInfo;
    const tokens = ['Authorization', 'Bearer token', 'authorization', 'Bearer no'];
    const headers = ['Host', 'plants', 'Content-Type', 'application/json', ...tokens];
    const outgoing = request({ port, host: '127.0.0.1', method: 'POST', path: '/plants', headers }).end(MONSTERA);
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];

    expect(await json(answer)).toMatchObject({ error: 401 });
  });

  it('accepts an HTTP/2 body without a length', async () => {
    const adapter = new FastifyAdapter({ http2: true });
    app = await newApplication(PlantsModule.forRoot(OPTIONS), { adapter });
    await app.listen(0, '127.0.0.1');
    const session = connect(await app.getUrl());
    const headers = { 'content-type': 'application/json', authorization: 'Bearer token' };
    const stream = session.request({ ':method': 'POST', ':path': '/plants', ...headers }).end(MONSTERA);

    expect(await text(stream)).toBe('{"name":"Monstera"}');
    session.close();
  });
});
