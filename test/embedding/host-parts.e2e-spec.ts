import {
  type CallHandler,
  Catch,
  ClassSerializerInterceptor,
  type ExceptionFilter,
  type ExecutionContext,
  Module,
  type NestInterceptor,
  type ArgumentsHost,
} from '@nestjs/common';
import { APP_INTERCEPTOR, HttpAdapterHost } from '@nestjs/core';
import { Test, type TestingModuleBuilder } from '@nestjs/testing';
import { catchError, tap, throwError, type Observable } from 'rxjs';
import {
  ContractExceptionFilter,
  type Outcome,
  PlantRepository,
  PlantsModule,
  RepositoryUnavailableError,
  type StoredPlant,
} from '../../src/index.js';
import { type Application, newAdapter, PLATFORMS, send } from '../support/hosts/application.js';

@Module({
  imports: [
    PlantsModule.forRoot({ repository: 'postgres://nowhere.invalid/plants', authentication: { tokens: ['token'] } }),
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

describe.each(PLATFORMS)('A host on %s', (platform) => {
  let app: Application;
  let repository: MemoryRepository;

  beforeEach(() => {
    repository = new MemoryRepository();
  });

  afterEach(() => app.close());

  /** Creates the application after these changes, with the repository in place of its database. */
  async function create(change: (builder: TestingModuleBuilder) => unknown = () => undefined, imports: object[] = []) {
    const builder = Test.createTestingModule({ imports: [GardenModule, ...(imports as [])] })
      .overrideProvider(PlantRepository)
      .useValue(repository);
    change(builder);
    const testing = await builder.compile();
    app = testing.createNestApplication(newAdapter(platform), { logger: false });
  }

  it('replaces the repository with overrideProvider, and needs no database then', async () => {
    await create();

    expect((await send(app)).body).toEqual({ name: 'Monstera' });
    expect(repository.plants).toEqual([{ id: 1n, name: 'Monstera' }]);
  });

  it('replaces the filter with overrideFilter', async () => {
    await create((builder) => builder.overrideFilter(ContractExceptionFilter).useClass(NameFilter));

    expect(await send(app, { token: null })).toMatchObject({ status: 418, body: { thrown: 'UnauthorizedException' } });
    expect(await send(app, { body: '{}' })).toMatchObject({ status: 418, body: { thrown: 'ContractException' } });
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
    await create(undefined, [InterceptorsModule]);

    expect((await send(app)).body).toEqual({ name: 'Monstera' });
    // Of a pipe, and of the handler.
    expect((await send(app, { body: '{"id": "1", "name": "Monstera"}' })).body).toMatchObject({ error: 422 });
    expect((await send(app)).body).toMatchObject({ error: 503 });

    expect(recorder.results).toEqual([['create', { name: 'Monstera' }]]);
    expect(recorder.errors).toMatchObject([
      { name: 'ContractException', error: 422, status: 400 },
      { name: 'ContractException', error: 503, status: 400 },
    ]);
  });
});
