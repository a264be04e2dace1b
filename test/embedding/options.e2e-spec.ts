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
    { what: 'a misspelt limit', options: { body: { limt: 1_000 } }, words: 'body must be' },
    { what: 'a timeout that is no number', options: { database: { timeout: NaN } }, words: 'database must be' },
    { what: 'a misspelt option', options: { relm: 'plants' }, words: 'relm; there are' },
  ])('does not start with $what, and names the option in one line', async ({ options, words }) => {
    expect(await startWith(options)).toMatch(new RegExp(`^TypeError: PlantsModule: .* option ${words} .+$`));
  });

  it('does not start with the URL of an unknown engine, and says so', async () => {
    expect(await startWith({ repository: 'plants.db' })).toMatch(/must be of the form sqlite:[^\n]+$/);
  });

  it('starts with undefined options', async () => {
    expect(await startWith({ realm: undefined, database: { timeout: undefined } })).toBe('started');
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
