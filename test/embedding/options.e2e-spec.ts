import { type DynamicModule, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { PlantsModule } from '../../src/index.js';

const OPTIONS = { repository: 'sqlite::memory:', authentication: { tokens: ['token'] } } as const;

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
function startWith(options: object): Promise<string> {
  return start(PlantsModule.forRoot({ ...OPTIONS, ...options }));
}

const AUTHENTICATION =
  "the option authentication must be { tokens: ['…'] } with letters, digits and -._~+/ in each token, { verifier } with a TokenVerifier, or false";

describe('PlantsModule', () => {
  it.each<{ what: string; options: object; message: string }>([
    { what: 'no authentication', options: { authentication: undefined }, message: AUTHENTICATION },
    {
      what: 'tokens and a verifier',
      options: { authentication: { tokens: ['token'], verifier: { verify: () => undefined } } },
      message: AUTHENTICATION,
    },
    { what: 'no token', options: { authentication: { tokens: [] } }, message: AUTHENTICATION },
    { what: 'an unset variable', options: { authentication: { tokens: [undefined] } }, message: AUTHENTICATION },
    {
      what: 'a token that no header can carry',
      options: { authentication: { tokens: ['two words'] } },
      message: AUTHENTICATION,
    },
    { what: 'a verifier without verify', options: { authentication: { verifier: {} } }, message: AUTHENTICATION },
    {
      what: 'a repository without close',
      options: { repository: { add: () => [] } },
      message:
        'the option repository must be a URL such as sqlite:data/plants.db, or a class that extends PlantRepository, or its instance',
    },
    {
      what: 'a misspelt option',
      options: { relm: 'plants' },
      message:
        'there is no option relm; there are repository, authentication, body, database, scope, realm, onPlantCreated',
    },
    {
      what: 'a misspelt limit',
      options: { body: { limt: 1_000 } },
      message: 'the option body must be { limit }, a number of bytes or a size from 1b to 256mb, for example 512kb',
    },
    {
      what: 'a timeout that is no number',
      options: { database: { timeout: Number('5s') } },
      message: 'the option database must be { timeout, startTimeout }, each a number from 1 to 3600000',
    },
  ])('does not start with $what, and says so in one line', async ({ options, message }) => {
    expect(await startWith(options)).toBe(`TypeError: PlantsModule: ${message}`);
  });

  it('does not start with the URL of an unknown engine, and says so', async () => {
    expect(await startWith({ repository: 'plants.db' })).toMatch(/must be of the form sqlite:[^\n]+$/);
  });

  it('starts with all options, and with undefined ones', async () => {
    const options = {
      scope: 'garden',
      realm: undefined,
      body: { limit: '2mb' },
      database: { timeout: undefined, startTimeout: 1 },
      onPlantCreated: () => undefined,
      isGlobal: true,
    };

    expect(await startWith(options)).toBe('started');
  });

  it('is registered once, and may be imported by several modules', async () => {
    const plants = PlantsModule.forRoot(OPTIONS);
    @Module({ imports: [plants] })
    class FirstModule {}
    @Module({})
    class HostModule {}

    expect(await start({ module: HostModule, imports: [FirstModule, plants] })).toBe('started');
    expect(await start({ module: HostModule, imports: [FirstModule, PlantsModule.forRoot(OPTIONS)] })).toBe(
      'TypeError: PlantsModule: it is registered twice: import the result of one forRoot, or set isGlobal',
    );
  });
});
