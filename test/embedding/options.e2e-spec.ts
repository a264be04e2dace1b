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

describe('PlantsModule', () => {
  it.each<{ what: string; options: object; words: string }>([
    { what: 'no authentication', options: { authentication: undefined }, words: 'authentication must be' },
    {
      what: 'tokens and a verifier',
      options: { authentication: { tokens: ['token'], verifier: { verify: () => undefined } } },
      words: 'authentication must be',
    },
    { what: 'no token', options: { authentication: { tokens: [] } }, words: 'authentication must be' },
    { what: 'an unset token', options: { authentication: { tokens: [undefined] } }, words: 'authentication must be' },
    { what: 'two words as a token', options: { authentication: { tokens: ['a b'] } }, words: 'authentication must be' },
    {
      what: 'a verifier without verify',
      options: { authentication: { verifier: {} } },
      words: 'authentication must be',
    },
    { what: 'a repository without close', options: { repository: { add: () => [] } }, words: 'repository must be' },
    {
      what: 'a repository whose check is no method',
      options: { repository: { add: () => [], close: () => undefined, check: true } },
      words: 'repository must be',
    },
    { what: 'a misspelt limit', options: { body: { limt: 1_000 } }, words: 'body must be' },
    ...[NaN, 0, 3_600_001, 1.5, '5s'].flatMap((limit) =>
      ['timeout', 'startTimeout'].map((name) => ({
        what: `${JSON.stringify(limit)} as ${name}`,
        options: { database: { [name]: limit } },
        words: 'database must be',
      })),
    ),
    ...['', 'a b', 'a"b', 'ä', 7].map((scope) => ({
      what: `${JSON.stringify(scope)} as scope`,
      options: { scope },
      words: 'scope must be',
    })),
    ...['', 'the "garden"', 'a\\', 'a\r\nSet-Cookie: a', 'Gärten\u2028', 7].map((realm) => ({
      what: `${JSON.stringify(realm)} as realm`,
      options: { realm },
      words: 'realm must be',
    })),
    { what: 'a text as listener', options: { onPlantCreated: 'x' }, words: 'onPlantCreated must be' },
    { what: 'a list as body', options: { body: [] }, words: 'body must be' },
    { what: 'a Map as body', options: { body: new Map([['limit', '1b']]) }, words: 'body must be' },
    { what: 'a member that each object inherits', options: { body: { toString: 5 } }, words: 'body must be' },
    { what: 'a Date as database', options: { database: new Date() }, words: 'database must be' },
    { what: 'a list of limits', options: { body: { limit: ['1kb'] } }, words: 'body must be' },
    { what: 'a hole among tokens', options: { authentication: { tokens: Array(1) } }, words: 'authentication must be' },
    { what: 'null as repository', options: { repository: null }, words: 'repository must be' },
    { what: 'a misspelt option', options: { relm: 'plants' }, words: 'relm; there are' },
  ])('does not start with $what, and names the option in one line', async ({ options, words }) => {
    expect(await startWith(options)).toMatch(new RegExp(`^TypeError: PlantsModule: .* option ${words} .+$`));
  });

  it.each([undefined, null, 'sqlite:plants.db'])(
    'does not start with %p instead of options, and says so',
    async (options) => {
      const none = options as unknown as typeof OPTIONS;
      const message = /^TypeError: PlantsModule: the options must be an object with repository and authentication$/;

      expect(() => PlantsModule.forRoot(none)).toThrow(TypeError);
      expect(await start(PlantsModule.forRootAsync({ useFactory: () => none }))).toMatch(message);
      expect(
        await start(
          PlantsModule.forRootAsync({
            useClass: class {
              create = () => none;
            },
          }),
        ),
      ).toMatch(message);
    },
  );

  it.each([undefined, {}, { useFactory: OPTIONS }])('does not start with forRootAsync(%j), and says so', (options) => {
    const wrong = options as unknown as Parameters<typeof PlantsModule.forRootAsync>[0];

    expect(() => PlantsModule.forRootAsync(wrong)).toThrow(
      'PlantsModule: forRootAsync must have useFactory, useClass or useExisting',
    );
  });

  it('does not start with a text as isGlobal, and says so', () => {
    const isGlobal = 'no' as unknown as boolean;

    expect(() => PlantsModule.forRoot({ ...OPTIONS, isGlobal })).toThrow('the option isGlobal must be true or false');
  });

  it('does not start with the URL of an unknown engine, and says so', async () => {
    expect(await startWith({ repository: 'plants.db' })).toMatch(/^OperatorError: .*sqlite: or postgres:[^\n]+$/);
  });

  it('starts with undefined options', async () => {
    expect(await startWith({ realm: undefined, database: { timeout: undefined } })).toBe('started');
  });

  it('starts with the least and the greatest timeouts', async () => {
    for (const limit of [1, 3_600_000]) {
      expect(await startWith({ database: { timeout: limit, startTimeout: limit } })).toBe('started');
    }
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

  it('waits for a PostgreSQL server no longer than database.startTimeout', async () => {
    const began = performance.now();

    const ending = await startWith({
      repository: 'postgres://u:p@127.0.0.1:1/plants',
      database: { startTimeout: 200 },
    });

    expect(ending).toContain('connect ECONNREFUSED');
    // By default, it waits 30 s.
    expect(performance.now() - began).toBeLessThan(25_000);
  });
});
