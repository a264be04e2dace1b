import { NestFactory } from '@nestjs/core';
import { PlantRepository, PlantsModule, type PlantsModuleOptions } from '../../src/index.js';

const OPTIONS = { repository: 'sqlite::memory:', authentication: { tokens: ['token'] } } as const;

/** As a JavaScript host may write it. */
class WithoutClose extends (PlantRepository as unknown as new () => object) {
  add(): string[] {
    return [];
  }
}

/** Returns how a start with these options of a JavaScript host ends. */
async function startWith(options: unknown): Promise<string> {
  try {
    const module = PlantsModule.forRoot(options as PlantsModuleOptions);
    const app = await NestFactory.create(module, { logger: false, abortOnError: false });
    await app.init();
    await app.close();
    return 'started';
  } catch (error) {
    return String(error);
  }
}

const REPOSITORY =
  'the option repository must be a URL such as sqlite:data/plants.db, or a class that extends PlantRepository, with add and close, or its instance';

const PATH = 'the option path must be segments of letters, digits and _.~-, not . or .., for example garden/plants';

const TOKENS =
  'the option authentication.tokens must be a list of tokens, each of letters, digits and -._~+/, then any =';

describe('PlantsModule does not start', () => {
  it.each<[string, unknown, string]>([
    ['without an argument', undefined, 'the options must be an object'],
    ['without a repository', { authentication: false }, REPOSITORY],
    ['with a repository of another type', { ...OPTIONS, repository: {} }, REPOSITORY],
    [
      'with an object that is no PlantRepository',
      { ...OPTIONS, repository: { add: () => [], close: () => undefined } },
      REPOSITORY,
    ],
    ['with a repository without close', { ...OPTIONS, repository: WithoutClose }, REPOSITORY],
    [
      'without authentication',
      { repository: 'sqlite::memory:' },
      "the option authentication must be { tokens: ['…'] }, { verifier }, or false",
    ],
    [
      'with authentication: true',
      { ...OPTIONS, authentication: true },
      "the option authentication must be { tokens: ['…'] }, { verifier }, or false",
    ],
    [
      'with a string as authentication',
      { ...OPTIONS, authentication: 'token' },
      "the option authentication must be { tokens: ['…'] }, { verifier }, or false",
    ],
    [
      'with tokens and a verifier',
      { ...OPTIONS, authentication: { tokens: ['token'], verifier: { verify: () => undefined } } },
      "the option authentication must be { tokens: ['…'] }, { verifier }, or false",
    ],
    ['with a string as tokens', { ...OPTIONS, authentication: { tokens: 'token' } }, TOKENS],
    ['without a token', { ...OPTIONS, authentication: { tokens: [] } }, TOKENS],
    ['with an undefined token', { ...OPTIONS, authentication: { tokens: [undefined] } }, TOKENS],
    ['with an empty token', { ...OPTIONS, authentication: { tokens: ['token', ''] } }, TOKENS],
    ['with a token that no header can carry', { ...OPTIONS, authentication: { tokens: ['two words'] } }, TOKENS],
    [
      'with a verifier that does not verify',
      { ...OPTIONS, authentication: { verifier: {} } },
      'the option authentication.verifier must be a TokenVerifier, as a class or an instance',
    ],
    [
      'with a misspelt option',
      { ...OPTIONS, relm: 'plants' },
      'there is no option relm; there are path, name, isGlobal, repository, authentication, scope, realm, body, database, onPlantCreated',
    ],
    [
      'with a scope that has a space',
      { ...OPTIONS, scope: 'two scopes' },
      'the option scope must be printable ASCII without spaces, quotation marks and backslashes',
    ],
    [
      'with a realm that has a quotation mark',
      { ...OPTIONS, realm: '"' },
      'the option realm must be printable ASCII without quotation marks and backslashes',
    ],
    [
      'with a size without a number',
      { ...OPTIONS, body: { limit: 'mb' } },
      'the option body.limit must be a number of bytes, or a size from 1b to 256mb, for example 512kb',
    ],
    [
      'with a limit of 0',
      { ...OPTIONS, body: { limit: 0 } },
      'the option body.limit must be a number of bytes, or a size from 1b to 256mb, for example 512kb',
    ],
    ['with a number as body', { ...OPTIONS, body: 1_000 }, 'the option body must be { limit }'],
    [
      'with a timeout of 0',
      { ...OPTIONS, database: { timeout: 0 } },
      'the option database.timeout must be milliseconds, from 1 to 3600000',
    ],
    ...[':garden/plants', '', '/', '.', '..', 'garden/../plants', './plants', 'plants/..', 'a//b', 'a b'].map(
      (path): [string, unknown, string] => [`with the path '${path}'`, { ...OPTIONS, path }, PATH],
    ),
    ['with an empty name', { ...OPTIONS, name: '' }, 'the option name must be a text that is not empty'],
    ['with isGlobal: 1', { ...OPTIONS, isGlobal: 1 }, 'the option isGlobal must be true or false'],
  ])('%s, and says so in one line', async (_with, options, message) => {
    expect(await startWith(options)).toBe(`TypeError: PlantsModule: ${message}`);
  });

  it('with a misspelt member of an option, and says so', async () => {
    const message = await startWith({ ...OPTIONS, authentication: { tokns: ['token'] } });

    expect(message).toMatch(/^TypeError: PlantsModule: there is no option authentication\.tokns; [^\n]+$/);
  });

  it.each<[string, object, string]>([
    ['path', { path: 'garden' }, 'give the option path to forRootAsync itself, beside useFactory'],
    ['a misspelt option', { tokns: [] }, 'there is no option tokns; there are path, '],
  ])('with %s of the factory of forRootAsync, and says so', async (_with, given, message) => {
    const module = PlantsModule.forRootAsync({ useFactory: () => ({ ...OPTIONS, ...given }) });

    await expect(NestFactory.create(module, { logger: false, abortOnError: false })).rejects.toThrow(message);
  });

  const useFactory = (): typeof OPTIONS => OPTIONS;

  it.each<[string, unknown, string]>([
    ['without an argument', undefined, 'the options must be an object'],
    ['with a misspelt option', { useFactory, pth: 'garden' }, 'there is no option pth; there are path, name, isGlobal'],
    ['without a source of the options', {}, 'forRootAsync must have one of useFactory, useClass, useExisting'],
    [
      'with two sources of the options',
      { useFactory, useClass: Map },
      'forRootAsync must have one of useFactory, useClass, useExisting',
    ],
    [
      'with an option beside useFactory',
      { useFactory, repository: 'sqlite:plants.db' },
      'return the option repository from useFactory, not beside it',
    ],
    ['with a wrong path', { useFactory, path: '..' }, PATH],
  ])('with forRootAsync %s, and says so in one line', (_with, options, message) => {
    expect(() => PlantsModule.forRootAsync(options as Parameters<typeof PlantsModule.forRootAsync>[0])).toThrow(
      `PlantsModule: ${message}`,
    );
  });
});

describe('PlantsModule starts', () => {
  it.each<[string, object]>([
    [
      'with undefined options',
      {
        scope: undefined,
        realm: undefined,
        body: undefined,
        database: undefined,
        path: undefined,
        name: undefined,
      },
    ],
    ['with undefined members', { body: { limit: undefined }, database: { timeout: undefined } }],
    [
      'with all options',
      {
        scope: 'garden',
        realm: 'the garden',
        body: { limit: '2mb' },
        database: { timeout: 1_000, startTimeout: 1 },
        path: '/garden/plants',
        name: 'garden',
        isGlobal: true,
      },
    ],
    ['with a limit in bytes', { body: { limit: 1_000 } }],
  ])('%s', async (_with, options) => {
    expect(await startWith({ ...OPTIONS, ...options })).toBe('started');
  });
});
