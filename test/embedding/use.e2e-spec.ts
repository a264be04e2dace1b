import type { Server } from 'node:http';
import { type ExecutionContext, Global, Injectable, Module } from '@nestjs/common';
import { APP_INTERCEPTOR, NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import request from 'supertest';
import {
  ContractException,
  FileTokens,
  JwtVerifier,
  NewPlantDto,
  PlantDto,
  PlantRepository,
  PLANTS_OPTIONS,
  PlantsModule,
  type PlantsModuleOptions,
  PlantsService,
  type Principal,
  principalOf,
  TokenVerifier,
} from '../../src/index.js';
import { newStore, type Store } from '../support/store.js';

const QUIET = { logger: false, abortOnError: false } as const;

let store: Store;

beforeEach(async () => {
  store = await newStore();
});

afterEach(() => store.close());

/** A provider of a host, which is written as the documentation shows it. */
@Injectable()
class Garden {
  constructor(
    readonly plants: PlantsService,
    readonly repository: PlantRepository,
  ) {}
}

describe('PlantsService in a host without a server', () => {
  async function withGarden(work: (garden: Garden) => Promise<void>): Promise<void> {
    const module = PlantsModule.forRoot({ repository: store.url, authentication: false });
    @Module({ imports: [module], providers: [Garden] })
    class HostModule {}
    const app = await NestFactory.createApplicationContext(HostModule, QUIET);
    await work(app.get(Garden));
    await app.close();
  }

  it('creates plants that are durable, as POST /plants does', async () => {
    const principal: Principal = { name: 'gardener' };
    await withGarden(async ({ plants }) => {
      const monstera = { id: 9007199254740993n, name: 'Monstera', tag: 'indoor' };
      const created = await plants.create(monstera, { principal });

      expect(created).toBeInstanceOf(PlantDto);
      expect(created).toEqual({ name: 'Monstera', tag: 'indoor' });
      expect(await plants.create(monstera)).toEqual(created);
      await expect(plants.create({ ...monstera, name: 'Aloe' })).rejects.toMatchObject({ error: 409 });
    });
    expect(await store.rows()).toEqual([{ id: 9007199254740993n, name: 'Monstera', tag: 'indoor' }]);
  });

  it.each<[string, unknown, string]>([
    ['an id beyond int64', { id: 2n ** 63n, name: 'Monstera' }, 'id must be an integer'],
    ['U+0000 in a tag', { id: 1n, name: 'Monstera', tag: '\0' }, 'tag must be a string'],
  ])('refuses %s', async (_what, plant, message) => {
    await withGarden(async ({ plants }) => {
      const refusal = plants.create(plant as NewPlantDto);

      await expect(refusal).rejects.toBeInstanceOf(ContractException);
      await expect(refusal).rejects.toThrow(message);
    });
    expect(await store.rows()).toEqual([]);
  });
});

describe('PlantsService of an application that has closed', () => {
  it('refuses plants with error 503', async () => {
    const module = PlantsModule.forRoot({ repository: 'sqlite::memory:', authentication: false });
    const app = await NestFactory.createApplicationContext(module, QUIET);
    const plants = app.get(PlantsService);
    await app.close();

    const refusal = plants.create({ id: 1n, name: 'Monstera' });

    await expect(refusal).rejects.toBeInstanceOf(ContractException);
    await expect(refusal).rejects.toMatchObject({ error: 503 });
  });
});

describe('With isGlobal', () => {
  it('modules that do not import PlantsModule inject its service', async () => {
    @Module({ providers: [Garden] })
    class GardenModule {}
    const plants = PlantsModule.forRootAsync({
      isGlobal: true,
      useFactory: () => ({ repository: store.url, authentication: false as const }),
    });
    @Module({ imports: [plants, GardenModule] })
    class HostModule {}
    const app = await NestFactory.createApplicationContext(HostModule, QUIET);

    await app.get(Garden, { strict: false }).plants.create({ id: 1n, name: 'Monstera' });

    expect(await store.rows()).toHaveLength(1);
    await app.close();
  });
});

describe('The options', () => {
  it('can be replaced in a test of the host', async () => {
    @Global()
    @Module({
      imports: [PlantsModule.forRoot({ repository: 'sqlite:nowhere/at/all.db', authentication: { tokens: [''] } })],
    })
    class HostModule {}
    const options: PlantsModuleOptions = { repository: store.url, authentication: false };
    const module = await Test.createTestingModule({ imports: [HostModule] })
      .overrideProvider(PLANTS_OPTIONS)
      .useValue(options)
      .compile();

    await module.get(PlantsService, { strict: false }).create({ id: 1n, name: 'Monstera' });

    expect(await store.rows()).toHaveLength(1);
    await module.close();
  });
});

/** Starts an application and creates plants with tokens. */
async function startWith(verifier: TokenVerifier, platform = 'express') {
  const seen: unknown[] = [];
  const interceptor = {
    intercept(context: ExecutionContext, next: { handle(): unknown }): unknown {
      const host = context.switchToHttp().getRequest<{ readonly user?: unknown }>();
      seen.push(host.user, principalOf(host));
      return next.handle();
    },
  };
  @Module({
    imports: [PlantsModule.forRoot({ repository: store.url, authentication: { verifier } })],
    providers: [{ provide: APP_INTERCEPTOR, useValue: interceptor }],
  })
  class HostModule {}
  const adapter = platform === 'express' ? undefined : new FastifyAdapter();
  const app = await (adapter ? NestFactory.create(HostModule, adapter, QUIET) : NestFactory.create(HostModule, QUIET));
  await app.listen(0, '127.0.0.1');
  return {
    app,
    seen,
    create: async (token: string): Promise<number> => {
      const answer = await request(app.getHttpServer() as Server)
        .post('/plants')
        .set('Authorization', `Bearer ${token}`)
        .type('json')
        .send('{"id": 1, "name": "Monstera"}');
      return answer.status === 200 ? 200 : (answer.body as { error: number }).error;
    },
  };
}

describe.each(['express', 'fastify'])('After the guard on %s', (platform) => {
  it('request.user is the principal', async () => {
    const principal: Principal = { name: 'gardener', scopes: ['plants:write'] };
    const { app, seen, create } = await startWith({ verify: () => principal }, platform);

    expect(await create('token')).toBe(200);
    expect(seen).toEqual([principal, principal]);
    await app.close();
  });
});

describe('FileTokens', () => {
  it('stops the start if the file does not exist', async () => {
    const verifier = new FileTokens('nowhere/tokens');

    await expect(startWith(verifier)).rejects.toMatchObject({
      name: 'TokenFileError',
      message: expect.stringMatching(/tokens[^\n]+$/) as string,
    });
  });
});

describe('JwtVerifier', () => {
  it.each<[string, object, string]>([
    ['an issuer without TLS', { issuer: 'http://login.example.com' }, 'issuer'],
    ['an issuer that is no URL', { issuer: 'login' }, 'issuer'],
    ['no audience', { audience: '' }, 'audience'],
    ['a text as jwksUrl', { jwksUrl: 'https://login.example.com/jwks' }, 'jwksUrl'],
    ['another type', { type: 'jwt' }, 'type'],
  ])('refuses %s in one line', (_what, setting, name) => {
    const settings = { issuer: 'https://login.example.com', audience: 'plants', ...setting };

    expect(() => new JwtVerifier(settings)).toThrow(new RegExp(`^JwtVerifier: ${name} must be [^\\n]+$`));
  });
});
