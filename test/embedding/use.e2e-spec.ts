import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type ArgumentsHost, Catch, type ExceptionFilter, Injectable, Module } from '@nestjs/common';
import { HttpAdapterHost, NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { Test } from '@nestjs/testing';
import {
  ContractExceptionFilter,
  NewPlantDto,
  PLANTS_OPTIONS,
  PlantsModule,
  type PlantsModuleOptions,
  type PlantsOptionsFactory,
  PlantsService,
  TokenVerifier,
} from '../../src/index.js';
import { create, CREATED, refusal } from '../support/client.js';
import { type Application, newAdapter, newApplication, PLATFORMS, send } from '../support/hosts/application.js';

const OPTIONS = { repository: 'sqlite::memory:', authentication: false } as const;

@Injectable()
class GardenOptions implements PlantsOptionsFactory {
  create(): PlantsModuleOptions {
    return OPTIONS;
  }
}

@Module({ providers: [GardenOptions], exports: [GardenOptions] })
class ConfigModule {}

const PLANT = { id: 9007199254740993n, name: 'Monstera', tag: 'indoor' };

describe('PlantsService in a host without a server', () => {
  it('creates plants as POST /plants does, and refuses them with the same errors', async () => {
    const app = await NestFactory.createApplicationContext(PlantsModule.forRoot(OPTIONS), { logger: false });
    const plants = app.get(PlantsService);

    const created = await plants.create(PLANT, { principal: { name: 'gardener', scopes: 'all' } });

    expect(created).toEqual({ name: 'Monstera', tag: 'indoor' });
    expect(await plants.create(PLANT)).toEqual(created);
    await expect(plants.create({ ...PLANT, name: 'Aloe' })).rejects.toMatchObject({ error: 409 });
    await expect(plants.create({ ...PLANT, id: 2n ** 63n })).rejects.toMatchObject({ error: 422 });
    await expect(plants.create({ ...PLANT, tag: '\0' })).rejects.toThrow('tag must be a string');
    await app.close();
    await expect(plants.create(PLANT)).rejects.toMatchObject({ name: 'ContractException', error: 503 });
  });
});

describe('A second server for the instance of Express, as in the guide of Nest', () => {
  it('answers creates with error 503 when the application has closed', async () => {
    const adapter = new ExpressAdapter();
    const app = await newApplication(PlantsModule.forRoot(OPTIONS), { adapter });
    await app.init();
    const second = createServer(adapter.getInstance<RequestListener>()).listen(0, '127.0.0.1');
    await once(second, 'listening');
    const url = `http://127.0.0.1:${(second.address() as AddressInfo).port}`;

    expect(await create(url)).toEqual(CREATED);
    await app.close();

    expect(await create(url)).toEqual(refusal(503));
    second.close();
  });
});

describe('PlantsService', () => {
  it.each([null, undefined, 7, 'Monstera', [PLANT], {}, { ...PLANT, id: 1 }, () => PLANT])(
    'refuses anything but a NewPlant with error 422: %p',
    async (value) => {
      const app = await NestFactory.createApplicationContext(PlantsModule.forRoot(OPTIONS), { logger: false });
      const created = app.get(PlantsService).create(value as typeof PLANT);

      await expect(created).rejects.toMatchObject({ name: 'ContractException', error: 422 });
      await app.close();
    },
  );

  it('refuses calls beyond 2,048 that wait for the store with error 503, and none when these are stored', async () => {
    const app = await NestFactory.createApplicationContext(PlantsModule.forRoot(OPTIONS), { logger: false });
    const plants = app.get(PlantsService);
    await expect(plants.create({ id: 2n ** 63n, name: 'Monstera' })).rejects.toMatchObject({ error: 422 });
    const calls = Array.from({ length: 2_049 }, (_, index) => plants.create({ id: BigInt(index), name: 'Monstera' }));
    const ends = await Promise.allSettled(calls);

    expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(2_048);
    expect(ends.at(-1)).toMatchObject({ reason: { error: 503 } });
    expect(await plants.create({ id: 2_049n, name: 'Monstera' })).toEqual({ name: 'Monstera' });
    await app.close();
  });

  it('refuses calls whose plants exceed 64 MiB together with error 503, and none when these are stored', async () => {
    const app = await NestFactory.createApplicationContext(PlantsModule.forRoot(OPTIONS), { logger: false });
    const plants = app.get(PlantsService);
    const name = 'x'.repeat(1_048_576);
    const ends = await Promise.allSettled(
      Array.from({ length: 65 }, (_, id) => plants.create({ id: BigInt(id), name })),
    );

    expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(64);
    expect(ends.at(-1)).toMatchObject({ reason: { error: 503 } });
    expect(await plants.create({ id: 65n, name })).toEqual({ name });
    await app.close();
  });

  it('validates a NewPlantDto that the host has made, too', async () => {
    const app = await NestFactory.createApplicationContext(PlantsModule.forRoot(OPTIONS), { logger: false });
    const plant = Object.assign(new NewPlantDto(), { id: 2n ** 63n, name: 'Monstera' });

    await expect(app.get(PlantsService).create(plant)).rejects.toMatchObject({ error: 422 });
    await app.close();
  });
});

describe('PlantsModule', () => {
  it.each([
    { from: 'useFactory', plants: PlantsModule.forRootAsync({ useFactory: () => OPTIONS }) },
    { from: 'useClass', plants: PlantsModule.forRootAsync({ useClass: GardenOptions }) },
    { from: 'useExisting', plants: PlantsModule.forRootAsync({ imports: [ConfigModule], useExisting: GardenOptions }) },
  ])('gets its options from $from', async ({ plants }) => {
    const app = await NestFactory.createApplicationContext(plants, { logger: false });

    expect(await app.get(PlantsService).create(PLANT)).toEqual({ name: 'Monstera', tag: 'indoor' });
    await app.close();
  });

  it('has options that a test of the host can replace', async () => {
    const unusable = PlantsModule.forRoot({ repository: 'sqlite:nowhere/at/all.db', authentication: { tokens: [''] } });
    const builder = Test.createTestingModule({ imports: [unusable] });
    const module = await builder.overrideProvider(PLANTS_OPTIONS).useValue(OPTIONS).compile();

    expect(await module.get(PlantsService, { strict: false }).create(PLANT)).toEqual({
      name: 'Monstera',
      tag: 'indoor',
    });
    await module.close();
  });
});

/** Answers with the name of what was thrown. */
@Catch()
class NameFilter implements ExceptionFilter {
  constructor(private readonly adapterHost: HttpAdapterHost) {}

  catch({ name }: Error, host: ArgumentsHost): void {
    this.adapterHost.httpAdapter.reply(host.switchToHttp().getResponse(), { thrown: name }, 418);
  }
}

describe.each(PLATFORMS)('A host on %s', (platform) => {
  it('replaces the filter with overrideFilter', async () => {
    const plants = PlantsModule.forRoot({ ...OPTIONS, authentication: { tokens: ['token'] } });
    const builder = Test.createTestingModule({ imports: [plants] });
    const testing = await builder.overrideFilter(ContractExceptionFilter).useClass(NameFilter).compile();
    const app: Application = testing.createNestApplication(newAdapter(platform), { logger: false });

    expect(await send(app, { token: null })).toMatchObject({ status: 418, body: { thrown: 'UnauthorizedException' } });
    expect(await send(app, { body: '{}' })).toMatchObject({ status: 418, body: { thrown: 'ContractException' } });
    await app.close();
  });

  it('replaces the verifier with overrideProvider', async () => {
    const plants = PlantsModule.forRoot({ ...OPTIONS, authentication: { tokens: ['token'] } });
    const builder = Test.createTestingModule({ imports: [plants] });
    const verifier = { verify: () => ({ name: 'anyone', scopes: 'all' }) };
    const testing = await builder.overrideProvider(TokenVerifier).useValue(verifier).compile();
    const app: Application = testing.createNestApplication(newAdapter(platform), { logger: false });

    expect(await send(app, { token: 'another' })).toMatchObject({ status: 200 });
    await app.close();
  });
});

describe('A host', () => {
  it('replaces what the route calls with overrideProvider(PlantsService)', async () => {
    const calls: unknown[] = [];
    const create = (...call: unknown[]): object => {
      calls.push(call);
      return { name: 'of the test' };
    };
    const builder = Test.createTestingModule({ imports: [PlantsModule.forRoot(OPTIONS)] });
    const testing = await builder.overrideProvider(PlantsService).useValue({ create }).compile();
    const app: Application = testing.createNestApplication(newAdapter('express'), { logger: false });

    expect(await send(app)).toMatchObject({ status: 200, body: { name: 'of the test' } });
    expect(calls).toEqual([[{ id: 1n, name: 'Monstera' }, { principal: undefined }]]);
    await app.close();
  });
});
