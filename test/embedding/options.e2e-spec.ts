import { type DynamicModule, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { PlantRepository, PlantsModule, type PlantsModuleOptions } from '../../src/index.js';

const OPTIONS = { repository: 'sqlite::memory:', authentication: { tokens: ['token'] } } as const;

/** As a JavaScript host may write it. */
class WithoutClose extends (PlantRepository as unknown as new () => object) {
  add(): string[] {
    return [];
  }
}

/** Returns how a start of the module ends. */
async function start(module: DynamicModule): Promise<string> {
  try {
    const app = await NestFactory.create(module, { logger: false, abortOnError: false });
    await app.init();
    await app.close();
    return 'started';
  } catch (error) {
    return String(error);
  }
}

/** Returns how a start with these options of a JavaScript host ends. */
function startWith(options: unknown): Promise<string> {
  return start(PlantsModule.forRoot(options as PlantsModuleOptions));
}

const REPOSITORY = 'the option repository must be a URL such as sqlite:data/plants.db, or a PlantRepository';

const AUTHENTICATION =
  "the option authentication must be { tokens: ['…'] } with letters, digits and -._~+/ in each token, { verifier } with a TokenVerifier, or false";

const BODY = 'the option body must be { limit }, a number of bytes or a size from 1b to 256mb, for example 512kb';

describe('PlantsModule does not start', () => {
  it.each<[string, object, string]>([
    ['without a repository', { repository: undefined }, REPOSITORY],
    ['with a repository without close', { repository: new WithoutClose() }, REPOSITORY],
    [
      'with tokens and a verifier',
      { authentication: { tokens: ['token'], verifier: { verify: () => undefined } } },
      AUTHENTICATION,
    ],
    ['without a token', { authentication: { tokens: [] } }, AUTHENTICATION],
    ['with a token from an unset variable', { authentication: { tokens: [undefined] } }, AUTHENTICATION],
    ['with a token that no header can carry', { authentication: { tokens: ['two words'] } }, AUTHENTICATION],
    ['with a verifier that does not verify', { authentication: { verifier: {} } }, AUTHENTICATION],
    [
      'with a misspelt option',
      { relm: 'plants' },
      'there is no option relm; there are repository, authentication, body, database, scope, realm, onPlantCreated',
    ],
    ['with a size without a number', { body: { limit: 'mb' } }, BODY],
    ['with a misspelt limit', { body: { limt: 1_000 } }, BODY],
    [
      'with a timeout that is no number',
      { database: { timeout: Number('5s') } },
      'the option database must be { timeout, startTimeout }, each a number from 1 to 3600000',
    ],
  ])('%s, and says so in one line', async (_with, options, message) => {
    expect(await startWith({ ...OPTIONS, ...options })).toBe(`TypeError: PlantsModule: ${message}`);
  });

  it('with the URL of an unknown engine, and says so', async () => {
    expect(await startWith({ ...OPTIONS, repository: 'plants.db' })).toMatch(/must be of the form sqlite:[^\n]+$/);
  });
});

describe('PlantsModule starts', () => {
  it.each<[string, object]>([
    ['with undefined options', { scope: undefined, body: undefined, database: { timeout: undefined } }],
    [
      'with all options',
      {
        scope: 'garden',
        realm: 'the garden',
        body: { limit: '2mb' },
        database: { timeout: 1_000, startTimeout: 1 },
        onPlantCreated: () => undefined,
        isGlobal: true,
      },
    ],
  ])('%s', async (_with, options) => {
    expect(await startWith({ ...OPTIONS, ...options })).toBe('started');
  });

  it('once, if several modules import the same registration', async () => {
    const plants = PlantsModule.forRoot(OPTIONS);
    @Module({ imports: [plants] })
    class FirstModule {}
    @Module({ imports: [plants] })
    class SecondModule {}
    @Module({ imports: [FirstModule, SecondModule] })
    class HostModule {}

    expect(await start({ module: HostModule })).toBe('started');
  });
});
