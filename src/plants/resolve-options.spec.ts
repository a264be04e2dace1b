import { resolveOptions } from './resolve-options.js';

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
      hostDecides: false,
      scope: 'plants:write',
      realm: 'plants',
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
    ['body', ...[NaN, 0, 1.5, 267_386_881, '512', '1mb'].map((limit) => ({ limit }))],
  ])('%s may not be %j, nor any of the others here', (name, ...values) => {
    for (const value of values) {
      expect(() => resolve({ [name]: value })).toThrow(new RegExp(`^PlantsModule: the option ${name}\\b.* must .+$`));
    }
  });

  it('are the documented ones', () => {
    expect(() => resolve({ scopes: 'plants:admin' })).toThrow(new TypeError('PlantsModule: there is no option scopes'));
  });

  it('open the route with false alone, and then know no token', () => {
    const { hostDecides, verifier } = resolve({ authentication: false });

    expect([hostDecides, verifier.verify('token')]).toEqual([true, undefined]);
  });
});
