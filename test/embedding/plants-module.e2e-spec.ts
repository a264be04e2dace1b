import { once } from 'node:events';
import { type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { connect } from 'node:http2';
import { text } from 'node:stream/consumers';
import type { AddressInfo } from 'node:net';
import { type DynamicModule, HttpException, Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import {
  PLANTS_OPTIONS,
  type Outcome,
  PlantRepository,
  PlantsModule,
  type PlantsModuleOptions,
  type Principal,
  type StoredPlant,
  TokenVerifier,
} from '../../src/index.js';

const OPTIONS: PlantsModuleOptions = {
  repository: 'sqlite::memory:',
  authentication: { tokens: ['first', 'second'] },
  scope: 'garden',
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

/** A provider that a repository of the host injects. */
@Injectable()
class Shelf {
  readonly plants = new Map<bigint, StoredPlant>();
  closed = 0;
}

@Module({ providers: [Shelf], exports: [Shelf] })
class ShelfModule {}

@Injectable()
class ShelfRepository extends PlantRepository {
  constructor(private readonly shelf: Shelf) {
    super();
  }

  override add(batch: readonly StoredPlant[]): Promise<readonly Outcome[]> {
    for (const plant of batch) this.shelf.plants.set(plant.id, plant);
    return Promise.resolve(batch.map(() => 'created'));
  }

  override close(): Promise<void> {
    this.shelf.closed += 1;
    return Promise.resolve();
  }
}

@Injectable()
class ScopedVerifier extends TokenVerifier {
  constructor(private readonly shelf: Shelf) {
    super();
  }

  override verify(token: string): Principal | undefined {
    return this.shelf.closed > 0 ? undefined : { name: 'host', scopes: [token] };
  }
}

function start(module: DynamicModule) {
  return NestFactory.create(module, { logger: false, abortOnError: false });
}

async function statusAndChallengeOf(
  module: DynamicModule,
  authorization?: string,
): Promise<(number | string | null)[]> {
  const app = await start(module);
  await app.listen(0, '127.0.0.1');
  const { port } = (app.getHttpServer() as Server).address() as AddressInfo;
  const answer = await fetch(`http://127.0.0.1:${port}/plants`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(authorization !== undefined && { authorization }) },
    body: '{"id": 1, "name": "Monstera"}',
  });
  await answer.text();
  await app.close();
  return [answer.status, answer.headers.get('www-authenticate')];
}

describe('PlantsModule', () => {
  it.each<[string, () => DynamicModule]>([
    ['forRoot', () => PlantsModule.forRoot(OPTIONS)],
    ['forRootAsync with useFactory', () => PlantsModule.forRootAsync({ useFactory: () => Promise.resolve(OPTIONS) })],
    [
      'forRootAsync with useFactory and inject',
      () =>
        PlantsModule.forRootAsync({
          imports: [OptionsModule],
          inject: [Options],
          useFactory: (options: Options) => options.create(),
        }),
    ],
    ['forRootAsync with useClass', () => PlantsModule.forRootAsync({ useClass: Options })],
    [
      'forRootAsync with useExisting',
      () => PlantsModule.forRootAsync({ imports: [OptionsModule], useExisting: Options }),
    ],
  ])('has the same options and behaviour with %s', async (_form, register) => {
    const app = await start(register());

    expect(app.get(PLANTS_OPTIONS, { strict: false })).toEqual(OPTIONS);
    await app.close();
    expect(await statusAndChallengeOf(register())).toEqual([400, 'Bearer realm="the garden"']);
    expect(await statusAndChallengeOf(register(), 'Bearer second')).toEqual([200, null]);
  });

  it('creates a repository and a verifier from classes, and injects their dependencies', async () => {
    const app = await start(
      PlantsModule.forRootAsync({
        imports: [ShelfModule],
        useFactory: () => ({
          repository: ShelfRepository,
          authentication: { verifier: ScopedVerifier },
          scope: 'garden',
        }),
      }),
    );
    const shelf = app.get(Shelf, { strict: false });
    await app.listen(0, '127.0.0.1');
    const { port } = (app.getHttpServer() as Server).address() as AddressInfo;
    const create = async (token: string): Promise<string> => {
      const answer = await fetch(`http://127.0.0.1:${port}/plants`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: '{"id": 1, "name": "Monstera"}',
      });
      return answer.text();
    };

    expect(JSON.parse(await create('another-scope'))).toMatchObject({ error: 403 });
    expect(JSON.parse(await create('garden'))).toEqual({ name: 'Monstera' });
    expect([...shelf.plants.keys()]).toEqual([1n]);
    await app.close();
    expect(shelf.closed).toBe(1);
  });

  it('uses instances of a repository and a verifier', async () => {
    const shelf = new Shelf();
    const module = PlantsModule.forRoot({
      repository: new ShelfRepository(shelf),
      authentication: { verifier: new ScopedVerifier(shelf) },
      scope: 'garden',
    });

    expect(await statusAndChallengeOf(module, 'Bearer garden')).toEqual([200, null]);
    expect(shelf.plants.size).toBe(1);
  });

  it('closes the repository once if the application is closed twice', async () => {
    const shelf = new Shelf();
    const module = PlantsModule.forRoot({ repository: new ShelfRepository(shelf), authentication: false });
    const app = await NestFactory.createApplicationContext(module, { logger: false });

    await app.close();
    await app.close();

    expect(shelf.closed).toBe(1);
  });

  it("leaves authentication to the host's guard with authentication: false", async () => {
    expect(await statusAndChallengeOf(PlantsModule.forRoot({ ...OPTIONS, authentication: false }))).toEqual([
      200,
      null,
    ]);
  });

  it.each([
    [429, 'with error 429', 429, /^There were /],
    [402, 'which the error table does not have, with error 400', 400, /^The request was refused with status 402\.$/],
  ])("answers %i of a host's guard, %s, and keeps its Retry-After", async (status, _how, error, message) => {
    const app = await start(PlantsModule.forRoot(OPTIONS));
    app.useGlobalGuards({
      canActivate(context) {
        context.switchToHttp().getResponse<ServerResponse>().setHeader('Retry-After', '7');
        throw new HttpException('The gardener says no.', status);
      },
    });
    await app.listen(0, '127.0.0.1');
    const { port } = (app.getHttpServer() as Server).address() as AddressInfo;

    const answer = await fetch(`http://127.0.0.1:${port}/plants`, { method: 'POST' });

    expect([answer.status, answer.headers.get('retry-after')]).toEqual([400, '7']);
    expect(await answer.json()).toEqual({ error, message: expect.stringMatching(message) as unknown });
    await app.close();
  });

  it.each(['express', 'fastify'])('refuses two Authorization headers on %s', async (platform) => {
    const options = { logger: false, abortOnError: false } as const;
    const module = PlantsModule.forRoot(OPTIONS);
    const app =
      platform === 'express'
        ? await NestFactory.create(module, options)
        : await NestFactory.create<NestFastifyApplication>(module, new FastifyAdapter(), options);
    await app.listen(0, '127.0.0.1');
    const { port } = (app.getHttpServer() as Server).address() as AddressInfo;
    const headers = ['Content-Type', 'application/json', 'Authorization', 'Bearer first', 'authorization', 'Bearer no'];
    const outgoing = request({
      port,
      host: '127.0.0.1',
      method: 'POST',
      path: '/plants',
      headers: ['Host', 'plants', ...headers],
    });
    outgoing.end('{"id": 1, "name": "Monstera"}');
    const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];

    expect(JSON.parse(await text(answer))).toMatchObject({ error: 401 });
    await app.close();
  });

  it('accepts an HTTP/2 body without a length', async () => {
    const app = await NestFactory.create<NestFastifyApplication>(
      PlantsModule.forRoot(OPTIONS),
      new FastifyAdapter({ http2: true }),
      { logger: false, abortOnError: false },
    );
    await app.listen(0, '127.0.0.1');
    const session = connect(await app.getUrl());
    const create = async (body: string): Promise<string> => {
      const stream = session.request({
        ':method': 'POST',
        ':path': '/plants',
        'content-type': 'application/json',
        authorization: 'Bearer first',
      });
      stream.end(body);
      return text(stream);
    };

    expect(await create('{"id": 1, "name": "Monstera"}')).toBe('{"name":"Monstera"}');
    expect(JSON.parse(await create(''))).toMatchObject({ error: 400 });
    session.close();
    await app.close();
  });
});
