import 'reflect-metadata';
import { type DynamicModule, type INestApplication, Module, type Type } from '@nestjs/common';
import { NestFactory, RouterModule } from '@nestjs/core';
import { type PlantRepository, PlantsModule, type TokenVerifier } from 'plant-store';

/** Returns what a snippet of docs/embedding.md exports; its file has the name of its last class or function. */
async function load(name: string): Promise<unknown> {
  const file = name.replace(/(?<!^)[A-Z]/g, '-$&').toLowerCase();
  return ((await import(`./${file}.js`)) as Record<string, unknown>)[name];
}

/** Sends a request, and returns the status and the body. */
async function send(app: INestApplication, method: string, path: string, token?: string): Promise<unknown[]> {
  const answer = await fetch(`${await app.getUrl()}${path}`, {
    method,
    headers: {
      'content-type': 'application/json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    ...(method === 'POST' && { body: '{"id": 9007199254740993, "name": "Monstera"}' }),
  });
  return [answer.status, (await answer.json()) as unknown];
}

async function listen(app: INestApplication): Promise<INestApplication> {
  await app.listen(0, '127.0.0.1');
  return app;
}

const plants = (await load('plants')) as DynamicModule;
const createTestApplication = (await load('createTestApplication')) as (
  module: DynamicModule,
) => Promise<INestApplication>;

const MemoryRepository = (await load('MemoryRepository')) as Type<PlantRepository>;
const GardenVerifier = (await load('GardenVerifier')) as Type<TokenVerifier>;

@Module({
  imports: [
    PlantsModule.forRoot({
      repository: new MemoryRepository(),
      authentication: { verifier: new GardenVerifier() },
    }),
  ],
  controllers: [(await load('BedsController')) as Type],
})
class GuideModule {}

const own = await listen(await NestFactory.create(GuideModule, { logger: false }));
const results: unknown[] = [
  await send(own, 'POST', '/plants', 'my-token'),
  await send(own, 'GET', '/beds', 'my-token'),
  await send(own, 'GET', '/beds', 'another-token'),
];
await own.close();

const hooked = await listen(await NestFactory.create(plants, { logger: false }));
results.push(await send(hooked, 'POST', '/plants', 'my-token'));
const { greeted } = hooked.get<{ greeted: string[] }>((await load('Greeter')) as Type, { strict: false });
await hooked.close();
results.push(greeted);

const tested = await listen(await createTestApplication(plants));
results.push(await send(tested, 'POST', '/plants'));
await tested.close();

@Module({ imports: [plants, RouterModule.register([{ path: 'garden', module: PlantsModule }])] })
class RoutedModule {}

const configure = (await load('configure')) as (app: INestApplication) => void;
const below = await NestFactory.create(RoutedModule, { logger: false });
configure(below);
results.push(await send(await listen(below), 'POST', '/garden/plants', 'my-token'));
await below.close();

/** The provider of a snippet. */
interface Nursery {
  sow(id: bigint, name: string): Promise<boolean>;
}

const context = await NestFactory.createApplicationContext((await load('NurseryModule')) as Type, { logger: false });
const nursery = context.get<Nursery>((await load('Nursery')) as Type);
results.push([await nursery.sow(1n, 'Ficus'), await nursery.sow(1n, 'Aloe')]);
await context.close();
console.log(JSON.stringify(results));
