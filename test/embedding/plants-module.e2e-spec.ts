import { EventEmitter, once } from 'node:events';
import { type IncomingMessage, request, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import type { AddressInfo } from 'node:net';
import { HttpException, Injectable, Module } from '@nestjs/common';
import {
  type Outcome,
  PlantRepository,
  PlantsModule,
  type PlantsModuleOptions,
  PlantsService,
  type Principal,
  RepositoryUnavailableError,
  type StoredPlant,
  TokenVerifier,
} from '../../src/index.js';
import { MONSTERA } from '../support/client.js';
import {
  type Application,
  HostLog,
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

/** Has room for one plant. */
class ShelfRepository extends PlantRepository {
  readonly ids: bigint[] = [];
  closed = 0;

  override add(batch: readonly StoredPlant[]): Promise<readonly Outcome[]> {
    if (this.ids.length > 0) throw new RepositoryUnavailableError('full');
    this.ids.push(...batch.map(({ id }) => id));
    return Promise.resolve(batch.map(() => 'created'));
  }

  override close(): Promise<void> {
    this.closed += 1;
    return Promise.resolve();
  }
}

describe('PlantsModule', () => {
  let app: Application;

  afterEach(() => app.close());

  it('names the protected space as its option realm says', async () => {
    app = await newApplication(PlantsModule.forRoot(OPTIONS));

    expect(await send(app)).toMatchObject({ status: 200, challenge: null });
    expect(await send(app, { token: null })).toMatchObject({ status: 400, challenge: 'Bearer realm="the garden"' });
  });

  it('takes plain objects as repository and verifier, and lets the host inject them', async () => {
    const repository = {
      add: () => Promise.resolve<Outcome[]>(['created']),
      close: () => Promise.resolve(),
      // For health checks of the host alone.
      check: () => Promise.reject(new Error('The host has not asked.')),
    };
    const verifier: TokenVerifier = {
      verify: (token) => (token === 'token' ? { name: 'host', scopes: 'all' } : undefined),
    };
    @Injectable()
    class Garden {
      constructor(
        readonly repository: PlantRepository,
        readonly verifier: TokenVerifier,
      ) {}
    }
    const plants = PlantsModule.forRoot({ repository, authentication: { verifier } });
    @Module({ imports: [plants], providers: [Garden] })
    class HostModule {}
    app = await newApplication(HostModule);

    expect(await send(app)).toMatchObject({ status: 200 });
    expect(await send(app, { token: 'another' })).toMatchObject({ body: { error: 401 } });
    expect(app.get(Garden)).toEqual({ repository, verifier });
    await expect(app.get(PlantsService, { strict: false }).snapshot()).rejects.toThrow('no method snapshot');
  });

  it("closes a host's repository after its last plant is stored, though Nest has called its destroy hook before", async () => {
    const events = new EventEmitter();
    const seen: string[] = [];
    const note = (event: string): void => {
      seen.push(event);
      events.emit(event);
    };
    const repository = {
      async add(): Promise<Outcome[]> {
        note('add');
        await once(events, 'onModuleDestroy');
        await new Promise(setImmediate);
        note('added');
        return ['created'];
      },
      async close() {
        note('close');
        await Promise.resolve();
      },
      onModuleDestroy: () => note('onModuleDestroy'),
    };
    app = await newApplication(PlantsModule.forRoot({ ...OPTIONS, repository }));
    await app.init();
    const created = app.get(PlantsService).create({ id: 1n, name: 'Monstera' });
    await once(events, 'add');
    await app.close();

    expect(await created).toEqual({ name: 'Monstera' });
    expect(seen).toEqual(['add', 'onModuleDestroy', 'added', 'close']);
  });

  it('uses the repository and the verifier of a host with its scope, and closes the repository once', async () => {
    const repository = new ShelfRepository();
    const verifier = { verify: (token: string): Principal => ({ name: 'host', scopes: [token] }) };
    app = await newApplication(PlantsModule.forRoot({ repository, authentication: { verifier }, scope: 'garden' }));

    expect((await send(app, { token: 'another-scope' })).body).toMatchObject({ error: 403 });
    expect((await send(app, { token: 'garden' })).body).toEqual({ name: 'Monstera' });
    expect((await send(app, { token: 'garden' })).body).toMatchObject({ error: 503 });
    await app.close();
    await app.close();
    expect(repository).toMatchObject({ ids: [1n], closed: 1 });
  });

  it.each<{ returned: unknown }>([
    { returned: ['ok'] },
    { returned: [] },
    { returned: Array(1) },
    { returned: 'created' },
    { returned: undefined },
  ])('answers error 500 for %j instead of an outcome, logs the reason, and goes on', async ({ returned }) => {
    const answers = [returned, ['created']];
    const repository = new ShelfRepository();
    repository.add = () => Promise.resolve(answers.shift() as readonly Outcome[]);
    const log = new HostLog();
    app = await newApplication(PlantsModule.forRoot({ ...OPTIONS, repository }), { logger: log });

    expect(await send(app)).toMatchObject({ status: 400, body: { error: 500 } });
    expect(log.errors).toEqual([
      [expect.stringMatching(/failed: The repository must return an outcome/), expect.any(String), 'PlantStore'],
    ]);
    expect(await send(app)).toMatchObject({ status: 200 });
  });

  it("leaves authentication to the host's guard with authentication: false, and has a verifier that knows no token", async () => {
    app = await newApplication(PlantsModule.forRoot({ ...OPTIONS, authentication: false }));

    expect(await send(app, { token: null })).toMatchObject({ status: 200, challenge: null });
    expect(app.get(TokenVerifier, { strict: false }).verify('token')).toBeUndefined();
  });

  it.each([
    { status: 429, error: 429, message: /^There were / },
    { status: 409, error: 400, message: /^The request was refused with status 409\.$/ },
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
    const outgoing = request({ port, host: '127.0.0.1', method: 'POST', path: '/plants', headers }).end(
      JSON.stringify(MONSTERA),
    );
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];

    expect(await json(answer)).toMatchObject({ error: 401 });
  });
});
