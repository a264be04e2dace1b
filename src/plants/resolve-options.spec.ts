import { parseBodyLimit, resolveOptions } from './resolve-options.js';

const OPTIONS = { repository: 'sqlite:plants.db', authentication: { tokens: ['token'] } } as const;

/** Resolves what a host in JavaScript may pass. */
function resolve(options: object) {
  return resolveOptions({ ...OPTIONS, ...options });
}

describe('The options of PlantsModule', () => {
  it.each([
    {},
    { scope: undefined, realm: undefined, body: undefined, database: undefined, onPlantCreated: undefined },
    { body: { limit: undefined }, database: { timeout: undefined, startTimeout: undefined } },
  ])('have defaults: %j', (options) => {
    expect(resolve(options)).toMatchObject({
      authentication: { hostDecides: false, scope: 'plants:write', realm: 'plants' },
      bodyLimit: 1_048_576,
      database: { timeout: 5_000, startTimeout: 30_000 },
      onPlantCreated: undefined,
    });
  });

  it.each<[name: string, ...values: unknown[]]>([
    ['repository', undefined, 7, {}],
    ['authentication', undefined, true, {}, { tokens: ['token'], verifier: { verify: () => undefined } }],
    // Without the quotation marks, the second one would be a list of characters.
    ['authentication', ...[[], 'secret', [undefined], ['a b'], ['']].map((tokens) => ({ tokens }))],
    ['authentication', ...[undefined, null, 7, {}].map((verifier) => ({ verifier }))],
    ['scope', '', 'a b', 'a"b', 'ä'],
    ['realm', '', 'the "garden"', 'a\\', 'a\r\nSet-Cookie: a', 'Gärten\u2028'],
    ['body', ...[NaN, 0, '256mb', '1 kb'].map((limit) => ({ limit }))],
    ['database', ...[NaN, 0, 3_600_001, 1.5, '5s'].flatMap((limit) => [{ timeout: limit }, { startTimeout: limit }])],
    ['onPlantCreated', 'greet'],
  ])('%s may not be %j, nor any of the others here', (name, ...values) => {
    for (const value of values) {
      expect(() => resolve({ [name]: value })).toThrow(new RegExp(`^PlantsModule: the option ${name}\\b.* must .+$`));
    }
  });

  it.each([
    [{ scopes: 'plants:admin' }, 'scopes'],
    [{ body: { limits: 1 } }, 'limits'],
    [{ database: { timeouts: 1 } }, 'timeouts'],
  ])('are the documented ones: not %j', (options, name) => {
    expect(() => resolve(options)).toThrow(new TypeError(`PlantsModule: there is no option ${name}`));
  });

  it('open the route with false alone, and then know no token', () => {
    const { hostDecides, verifier } = resolve({ authentication: false }).authentication;

    expect([hostDecides, verifier.verify('token')]).toEqual([true, undefined]);
  });
});

describe('The limit of a body', () => {
  it.each([
    ['1', 1],
    ['1b', 1],
    ['1.9', 1],
    ['1kb', 1_024],
    ['1.5KB', 1_536],
    ['1mb', 1_048_576],
    ['255mb', 267_386_880],
    ['261120kb', 267_386_880],
  ])('may be %s', (text, bytes) => expect(parseBodyLimit(text)).toBe(bytes));

  it.each(['', '0', '0.9b', '-1', '1e3', '1 kb', '1gb', '.5mb', '1.mb', '256mb', '267386881', 'NaN', 'Infinity'])(
    'may not be %j',
    (text) => expect(parseBodyLimit(text)).toBeUndefined(),
  );
});
