import { EventEmitter, once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Injectable, Module } from '@nestjs/common';
import { HttpAdapterHost, NestFactory } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import {
  ContractExceptionFilter,
  NewPlantDto,
  type Outcome,
  PlantRepository,
  PLANTS_OPTIONS,
  PlantsModule,
  type PlantsModuleOptions,
  type PlantsOptionsFactory,
  PlantsService,
  type Principal,
  RepositoryUnavailableError,
  TokenVerifier,
} from '../../src/index.js';
import {
  type Application,
  HostLog,
  newAdapter,
  newApplication,
  PLATFORMS,
  send,
} from '../support/hosts/application.js';
import { openSqliteFile } from '../support/sqlite-file.js';
import { newStore } from '../support/store.js';

const OPTIONS: PlantsModuleOptions = { repository: 'sqlite::memory:', authentication: { tokens: ['token'] } };
const PLANT = { id: 9007199254740993n, name: 'Monstera', tag: 'indoor' };
const ANSWER = { name: 'Monstera', tag: 'indoor' };

let app: Application | undefined;

/** Creates the application of a test. */
async function newApp(...parameters: Parameters<typeof newApplication>): Promise<Application> {
  return (app = await newApplication(...parameters));
}

function start(options: object = {}, logger = new HostLog()): Promise<Application> {
  return newApp(PlantsModule.forRoot({ ...OPTIONS, ...options }), { logger });
}

afterEach(async () => {
  await app?.close();
  app = undefined;
});

describe('The options of PlantsModule', () => {
  @Injectable()
  class GardenOptions implements PlantsOptionsFactory {
    create(): PlantsModuleOptions {
      return OPTIONS;
    }
  }
  @Module({ providers: [GardenOptions], exports: [GardenOptions] })
  class ConfigModule {}

  it.each([
    { from: 'useFactory', module: PlantsModule.forRootAsync({ useFactory: () => OPTIONS }) },
    { from: 'useClass', module: PlantsModule.forRootAsync({ useClass: GardenOptions }) },
    { from: 'useExisting', module: PlantsModule.forRootAsync({ imports: [ConfigModule], useExisting: GardenOptions }) },
  ])('come from $from', async ({ module }) => {
    const app = await newApp(module);

    expect(await send(app)).toMatchObject({ status: 200, body: { name: 'Monstera' } });
  });

  it('name the scope of tokens, the realm, and the limit of a body', async () => {
    const verifier = { verify: (token: string): Principal => ({ name: 'host', scopes: [token] }) };
    const app = await start({
      authentication: { verifier },
      scope: 'garden',
      realm: 'the garden',
      body: { limit: 1_024 },
    });

    expect(await send(app, { token: null })).toMatchObject({
      body: { error: 401 },
      challenge: 'Bearer realm="the garden"',
    });
    expect(await send(app, { token: 'another' })).toMatchObject({ body: { error: 403 } });
    expect(await send(app, { token: 'garden', body: ' '.repeat(1_025) })).toMatchObject({ body: { error: 413 } });
    expect(await send(app, { token: 'garden' })).toMatchObject({ status: 200, challenge: null });
  });

  it('leave authentication to the host with false', async () => {
    const app = await start({ authentication: false });

    expect(await send(app, { token: null })).toMatchObject({ status: 200, challenge: null });
  });

  it.each([
    [{ repository: 'plants.db' }, /^OperatorError: .*sqlite: and a path/],
    [{ repository: 'postgres://u:secret@db.example.com/plants' }, /^OperatorError: .*must have sslmode, [^\n]+$/],
    [{ scopes: 'plants:admin' }, /^TypeError: PlantsModule: there is no option scopes$/],
  ])('end the start if they are wrong: %j', async (options, message) => {
    expect(await start(options).catch(String)).toMatch(message);
  });

  it('belong to one registration, which several modules may import', async () => {
    const plants = PlantsModule.forRoot(OPTIONS);
    @Module({ imports: [plants] })
    class GardenModule {}
    @Module({})
    class HostModule {}
    const app = await newApp({ module: HostModule, imports: [GardenModule, plants] });

    expect(await send(app)).toMatchObject({ status: 200 });
    await expect(
      newApplication({ module: HostModule, imports: [GardenModule, PlantsModule.forRoot(OPTIONS)] }),
    ).rejects.toThrow(new TypeError('PlantsModule: it is registered twice: import the result of one forRoot'));
  });

  it('bound the time in which a batch waits for a lock', async () => {
    const store = await newStore();
    const app = await start({ repository: store.url, database: { timeout: 100 } });
    await app.init();
    const other = openSqliteFile(store.url.replace('sqlite:', ''));
    other.exec('BEGIN IMMEDIATE');
    const began = performance.now();

    expect(await send(app)).toMatchObject({ body: { error: 503 }, retryAfter: '1' });
    // By default, it waits 5 s.
    expect(performance.now() - began).toBeLessThan(4_500);
    other.close();
    await app.close();
    await store.close();
  });

  it('bound the time in which a start waits for PostgreSQL, which the log tells', async () => {
    const log = new HostLog();
    const began = performance.now();
    const options = { repository: 'postgres://u:p@127.0.0.1:1/plants', database: { startTimeout: 700 } };

    await expect(start(options, log)).rejects.toThrow('connect ECONNREFUSED');
    // By default, it waits 30 s.
    expect(performance.now() - began).toBeLessThan(25_000);
    expect(log.warnings).toEqual([expect.stringMatching(/^The start waits for the database: .+$/)]);
  });
});

describe('A repository and a verifier of the host', () => {
  /** Stores the first batch. */
  function createRepository() {
    const batches: number[] = [];
    const add = (batch: readonly object[]): Promise<Outcome[]> => {
      if (batches.length > 0) return Promise.reject(new RepositoryUnavailableError('The shelf is full.'));
      batches.push(batch.length);
      return Promise.resolve(batch.map(() => 'created'));
    };
    return { add, close: () => Promise.resolve() };
  }

  it('may be plain objects, which the host can inject', async () => {
    const repository = createRepository();
    const verifier = { verify: (): Principal => ({ name: 'host', scopes: 'all' }) };
    @Injectable()
    class Garden {
      constructor(
        readonly repository: PlantRepository,
        readonly verifier: TokenVerifier,
      ) {}
    }
    @Module({ imports: [PlantsModule.forRoot({ repository, authentication: { verifier } })], providers: [Garden] })
    class HostModule {}
    const app = await newApp(HostModule);

    expect(await send(app)).toMatchObject({ status: 200 });
    expect(await send(app)).toMatchObject({ body: { error: 503 } });
    expect(app.get(Garden)).toEqual({ repository, verifier });
  });

  it('of a wrong outcome gets error 500, and the log has the reason', async () => {
    const log = new HostLog();
    const app = await start(
      { repository: { ...createRepository(), add: () => Promise.resolve(['ok' as Outcome]) } },
      log,
    );

    expect(await send(app)).toMatchObject({ status: 400, body: { error: 500 } });
    expect(log.errors).toEqual([
      [expect.stringMatching(/failed: The repository must return an outcome/), expect.any(String), 'PlantStore'],
    ]);
  });

  it('is closed once, after its last plant, though Nest has called its destroy hook before', async () => {
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
    const app = await start({ repository });
    await app.init();
    const created = app.get(PlantsService).create(PLANT);
    await once(events, 'add');
    await app.close();

    expect(await created).toEqual(ANSWER);
    expect(seen).toEqual(['add', 'onModuleDestroy', 'added', 'close']);
    await app.close();
    expect(seen.filter((event) => event === 'close')).toHaveLength(1);
  });
});

describe('PlantsService of a host', () => {
  let plants: PlantsService;

  beforeEach(async () => {
    plants = (await start()).get(PlantsService);
  });

  it('creates plants as POST /plants does, also without a server, until the application closes', async () => {
    const context = await NestFactory.createApplicationContext(PlantsModule.forRoot(OPTIONS), { logger: false });
    const service = context.get(PlantsService);

    expect(await service.create(PLANT)).toEqual(ANSWER);
    expect(await service.create(PLANT)).toEqual(ANSWER);
    await expect(service.create({ ...PLANT, name: 'Aloe' })).rejects.toMatchObject({ error: 409 });
    await context.close();
    await expect(service.create(PLANT)).rejects.toMatchObject({ name: 'ContractException', error: 503 });
  });

  it.each([
    ...[null, undefined, 7, 'Monstera', [PLANT], {}, { ...PLANT, id: 1 }, { ...PLANT, tag: '\0' }, () => PLANT],
    // A host can make one, and nothing has validated it.
    Object.assign(new NewPlantDto(), { ...PLANT, id: 2n ** 63n }),
  ])('refuses anything but a NewPlant with error 422: %p', async (value) => {
    await expect(plants.create(value as typeof PLANT)).rejects.toMatchObject({ error: 422 });
  });

  it('lets 2,048 plants wait for the store, and refuses further ones with error 503', async () => {
    const calls = Array.from({ length: 2_049 }, (_, id) => plants.create({ id: BigInt(id), name: 'Monstera' }));
    const ends = await Promise.allSettled(calls);

    expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(2_048);
    expect(ends.at(-1)).toMatchObject({ reason: { error: 503 } });
    expect(await plants.create({ id: 2_048n, name: 'Monstera' })).toEqual({ name: 'Monstera' });
  });
});

describe.each(PLATFORMS)('On %s', (platform) => {
  /** Answers with the name of what was thrown. */
  @Catch()
  class NameFilter implements ExceptionFilter {
    constructor(private readonly adapterHost: HttpAdapterHost) {}

    catch({ name }: Error, host: ArgumentsHost): void {
      this.adapterHost.httpAdapter.reply(host.switchToHttp().getResponse(), { thrown: name }, 418);
    }
  }

  it('a test of the host replaces options, verifier and filter', async () => {
    const unusable = PlantsModule.forRoot({ repository: 'sqlite:nowhere/at/all.db', authentication: { tokens: [''] } });
    const verifier = {
      verify: (token: string) => (token === 'of-the-test' ? { name: 'anyone', scopes: 'all' } : undefined),
    };
    const testing = await Test.createTestingModule({ imports: [unusable] })
      .overrideProvider(PLANTS_OPTIONS)
      .useValue(OPTIONS)
      .overrideProvider(TokenVerifier)
      .useValue(verifier)
      .overrideFilter(ContractExceptionFilter)
      .useClass(NameFilter)
      .compile();
    const app: Application = testing.createNestApplication(newAdapter(platform), { logger: false });

    expect(await send(app, { token: 'of-the-test' })).toMatchObject({ status: 200 });
    expect(await send(app, { token: null })).toMatchObject({ status: 418, body: { thrown: 'UnauthorizedException' } });
    expect(await send(app, { token: 'of-the-test', body: '{}' })).toMatchObject({
      status: 418,
      body: { thrown: 'ContractException' },
    });
    await app.close();
  });

  it("a refusal of a host's guard gets the contract's form, and keeps its Retry-After", async () => {
    const app = await newApp(PlantsModule.forRoot(OPTIONS), { adapter: newAdapter(platform) });
    const { httpAdapter } = app.get(HttpAdapterHost);
    app.useGlobalGuards({
      canActivate(context) {
        httpAdapter.setHeader(context.switchToHttp().getResponse<ServerResponse>(), 'Retry-After', '7');
        throw new HttpException('The gardener says no.', 429);
      },
    });

    expect(await send(app)).toMatchObject({ status: 400, retryAfter: '7', body: { error: 429 } });
  });
});
