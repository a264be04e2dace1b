import { type ExecutionContext, type INestApplicationContext, Injectable, Module } from '@nestjs/common';
import { APP_INTERCEPTOR, NestFactory } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import {
  ContractException,
  FileTokens,
  JwtVerifier,
  PlantDto,
  PLANTS_OPTIONS,
  PlantsModule,
  PlantsService,
  type Principal,
  principalOf,
} from '../../src/index.js';
import { newAdapter, newApplication, PLATFORMS, send } from '../support/hosts/application.js';

const OPTIONS = { repository: 'sqlite::memory:', authentication: false } as const;
const MONSTERA = { id: 9007199254740993n, name: 'Monstera', tag: 'indoor' };

describe('PlantsService in a host without a server', () => {
  let app: INestApplicationContext;
  let plants: PlantsService;

  beforeEach(async () => {
    app = await NestFactory.createApplicationContext(PlantsModule.forRoot(OPTIONS), { logger: false });
    plants = app.get(PlantsService);
  });

  afterEach(() => app.close());

  it('creates plants as POST /plants does', async () => {
    const created = await plants.create(MONSTERA, { principal: { name: 'gardener' } });

    expect(created).toBeInstanceOf(PlantDto);
    expect(created).toEqual({ name: 'Monstera', tag: 'indoor' });
    expect(await plants.create(MONSTERA)).toEqual(created);
    await expect(plants.create({ ...MONSTERA, name: 'Aloe' })).rejects.toMatchObject({ error: 409 });
  });

  it.each<[string, object, string]>([
    ['an id beyond int64', { id: 2n ** 63n }, 'id must be an integer'],
    ['U+0000 in a tag', { tag: '\0' }, 'tag must be a string'],
  ])('refuses %s', async (_what, change, message) => {
    const refusal = plants.create({ ...MONSTERA, ...change });

    await expect(refusal).rejects.toBeInstanceOf(ContractException);
    await expect(refusal).rejects.toThrow(message);
  });

  it('refuses plants with error 503 when the application has closed', async () => {
    await app.close();

    await expect(plants.create(MONSTERA)).rejects.toMatchObject({ name: 'ContractException', error: 503 });
  });
});

describe('PlantsModule', () => {
  it('with isGlobal gives its service to modules that do not import it', async () => {
    @Injectable()
    class Garden {
      constructor(readonly plants: PlantsService) {}
    }
    @Module({ providers: [Garden] })
    class GardenModule {}
    const plants = PlantsModule.forRootAsync({ isGlobal: true, useFactory: () => OPTIONS });
    @Module({ imports: [plants, GardenModule] })
    class HostModule {}
    const app = await NestFactory.createApplicationContext(HostModule, { logger: false });

    expect(await app.get(Garden, { strict: false }).plants.create(MONSTERA)).toBeInstanceOf(PlantDto);
    await app.close();
  });

  it('has options that a test of the host can replace', async () => {
    const unusable = PlantsModule.forRoot({ repository: 'sqlite:nowhere/at/all.db', authentication: { tokens: [''] } });
    const builder = Test.createTestingModule({ imports: [unusable] });
    const module = await builder.overrideProvider(PLANTS_OPTIONS).useValue(OPTIONS).compile();

    const plants = module.get(PlantsService, { strict: false });

    expect(await plants.create(MONSTERA)).toBeInstanceOf(PlantDto);
    await module.close();
  });
});

describe.each(PLATFORMS)('After the guard on %s', (platform) => {
  it('request.user is the principal', async () => {
    const principal: Principal = { name: 'gardener', scopes: ['plants:write'] };
    const seen: unknown[] = [];
    const interceptor = {
      intercept(context: ExecutionContext, next: { handle(): unknown }): unknown {
        const host = context.switchToHttp().getRequest<{ readonly user?: unknown }>();
        seen.push(host.user, principalOf(host));
        return next.handle();
      },
    };
    @Module({
      imports: [PlantsModule.forRoot({ ...OPTIONS, authentication: { verifier: { verify: () => principal } } })],
      providers: [{ provide: APP_INTERCEPTOR, useValue: interceptor }],
    })
    class HostModule {}
    const app = await newApplication(HostModule, { adapter: newAdapter(platform) });

    expect(await send(app)).toMatchObject({ status: 200 });
    expect(seen).toEqual([principal, principal]);
    await app.close();
  });
});

describe('FileTokens', () => {
  it('stops the start if the file does not exist', async () => {
    const app = await newApplication(
      PlantsModule.forRoot({ ...OPTIONS, authentication: { verifier: new FileTokens('nowhere/tokens') } }),
    );

    await expect(app.init()).rejects.toMatchObject({
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
