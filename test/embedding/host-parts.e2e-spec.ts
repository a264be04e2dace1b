import {
  type CallHandler,
  type CanActivate,
  Catch,
  ClassSerializerInterceptor,
  type ExceptionFilter,
  type ExecutionContext,
  type INestApplication,
  Module,
  type NestInterceptor,
  type ArgumentsHost,
} from '@nestjs/common';
import { APP_INTERCEPTOR, HttpAdapterHost } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test, type TestingModuleBuilder } from '@nestjs/testing';
import { catchError, tap, throwError, type Observable } from 'rxjs';
import {
  BearerAuthGuard,
  ContractExceptionFilter,
  type Outcome,
  PlantRepository,
  PlantsModule,
  RepositoryUnavailableError,
  type StoredPlant,
} from '../../src/index.js';

@Module({
  imports: [
    PlantsModule.forRoot({ repository: 'postgres://nowhere.invalid/plants', authentication: { tokens: ['first'] } }),
  ],
})
class GardenModule {}

/** Remembers plants, as a host writes it for its tests. */
class MemoryRepository extends PlantRepository {
  readonly plants: StoredPlant[] = [];

  override add(batch: readonly StoredPlant[]): Promise<readonly Outcome[]> {
    if (this.plants.length > 0) throw new RepositoryUnavailableError('full');
    this.plants.push(...batch);
    return Promise.resolve(batch.map(() => 'created'));
  }

  override close(): Promise<void> {
    return Promise.resolve();
  }
}

/** Refuses every request, or none. */
class FixedGuard implements CanActivate {
  constructor(private readonly passes: boolean) {}

  canActivate(): boolean {
    return this.passes;
  }
}

/** Notes what handlers return and throw. */
class Recorder implements NestInterceptor {
  readonly results: unknown[] = [];
  readonly errors: unknown[] = [];

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(
      tap((result) => this.results.push([context.getHandler().name, result])),
      catchError((error: unknown) => {
        this.errors.push(error);
        return throwError(() => error);
      }),
    );
  }
}

/** Answers with the name of what was thrown. */
@Catch()
class NameFilter implements ExceptionFilter {
  constructor(private readonly adapterHost: HttpAdapterHost) {}

  catch({ name }: Error, host: ArgumentsHost): void {
    this.adapterHost.httpAdapter.reply(host.switchToHttp().getResponse(), { thrown: name }, 418);
  }
}

describe.each([
  ['Express', () => new ExpressAdapter()],
  ['Fastify', () => new FastifyAdapter()],
])('A host on %s', (_platform, adapter) => {
  let app: INestApplication | undefined;
  let repository: MemoryRepository;

  beforeEach(() => {
    repository = new MemoryRepository();
  });

  afterEach(() => app?.close());

  /** Starts GardenModule after these changes, with the repository in place of its database. */
  async function start(change: (builder: TestingModuleBuilder) => unknown = () => undefined, imports: object[] = []) {
    const builder = Test.createTestingModule({ imports: [GardenModule, ...(imports as [])] })
      .overrideProvider(PlantRepository)
      .useValue(repository);
    change(builder);
    const testing = await builder.compile();
    app = testing.createNestApplication(adapter(), { logger: false });
    await app.listen(0, '127.0.0.1');
    const url = `${await app.getUrl()}/plants`;
    return async (body: string, token = 'first') => {
      const answer = await fetch(url, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body,
      });
      return { status: answer.status, body: (await answer.json()) as unknown, headers: answer.headers };
    };
  }

  it('replaces the repository with overrideProvider, and needs no database then', async () => {
    const create = await start();

    expect(await create('{"id": 1, "name": "Monstera"}')).toMatchObject({ status: 200, body: { name: 'Monstera' } });
    expect(repository.plants).toEqual([{ id: 1n, name: 'Monstera' }]);
  });

  it.each([
    ['passes', true, 200, { name: 'Monstera' }],
    ['refuses', false, 400, { error: 403 }],
  ])('replaces the guard with one that %s, with overrideGuard', async (_what, passes, status, body) => {
    const create = await start((builder) => builder.overrideGuard(BearerAuthGuard).useValue(new FixedGuard(passes)));

    expect(await create('{"id": 1, "name": "Monstera"}', 'none')).toMatchObject({ status, body });
  });

  it('replaces the filter with overrideFilter', async () => {
    const create = await start((builder) => builder.overrideFilter(ContractExceptionFilter).useClass(NameFilter));

    expect(await create('{}', 'none')).toMatchObject({ status: 418, body: { thrown: 'UnauthorizedException' } });
    expect(await create('{}')).toMatchObject({ status: 418, body: { thrown: 'ContractException' } });
  });

  it('sees answers and errors in its interceptors', async () => {
    const recorder = new Recorder();
    @Module({
      providers: [
        { provide: APP_INTERCEPTOR, useValue: recorder },
        { provide: APP_INTERCEPTOR, useClass: ClassSerializerInterceptor },
      ],
    })
    class InterceptorsModule {}
    const create = await start(undefined, [InterceptorsModule]);

    expect((await create('{"id": 1, "name": "Monstera"}')).body).toEqual({ name: 'Monstera' });
    // Of a pipe, and of the handler.
    expect((await create('{"id": "1", "name": "Monstera"}')).body).toMatchObject({ error: 422 });
    expect((await create('{"id": 2, "name": "Monstera"}')).body).toMatchObject({ error: 503 });

    expect(recorder.results).toEqual([['create', { name: 'Monstera' }]]);
    expect(recorder.errors).toEqual([
      expect.objectContaining({ name: 'ContractException', error: 422, status: 400 }),
      expect.objectContaining({ name: 'ContractException', error: 503, status: 400 }),
    ]);
  });
});
