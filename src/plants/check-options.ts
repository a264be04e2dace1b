import { isRealm, isScope } from '../auth/bearer-auth-options.js';
import { isBearerToken } from '../auth/bearer-token.js';
import { BODY_LIMIT_RULE, parseBodyLimit } from './body-limit.js';
import type { PlantsModuleOptions, PlantsRegistration } from './plants.module-definition.js';

/** Throws a TypeError, whose message is one line, if the value of an option is wrong. */
type Check = (value: unknown, option: string) => void;

const authentication = mustHave({
  tokens: mustBe(
    (value) =>
      Array.isArray(value) && value.length > 0 && value.every((token) => isText(token) && isBearerToken(token)),
    'a list of tokens, each of letters, digits and -._~+/, then any =',
  ),
  verifier: mustBe((value) => isClassOrInstance(value, 'verify'), 'a TokenVerifier, as a class or an instance'),
});

const REGISTRATION: Readonly<Record<keyof PlantsRegistration, Check>> = {
  path: mayBe(
    (value) => isText(value) && /^\/?[\w.~-]+(?:\/[\w.~-]+)*\/?$/.test(value),
    'segments of letters, digits and _.~-, for example garden/plants',
  ),
  name: mayBe((value) => isText(value) && value !== '', 'a text that is not empty'),
  isGlobal: mayBe((value) => typeof value === 'boolean', 'true or false'),
};

const OPTIONS: Readonly<Record<keyof PlantsModuleOptions, Check>> = {
  repository: mustBe(
    (value) => (isText(value) && value !== '') || isClassOrInstance(value, 'add'),
    'a URL such as sqlite:data/plants.db, or a PlantRepository, as a class or an instance',
  ),
  authentication(value, option) {
    if (value === false) return;
    mustBe((given) => isObject(given) && Object.keys(given).length === 1, "{ tokens: ['…'] }, { verifier }, or false")(
      value,
      option,
    );
    authentication(value, option);
  },
  scope: mayBe(
    (value) => isText(value) && isScope(value),
    'printable ASCII without spaces, quotation marks and backslashes',
  ),
  realm: mayBe((value) => isText(value) && isRealm(value), 'printable ASCII without quotation marks and backslashes'),
  refusedTokensPerMinute: mayBe(
    (value) => value === Infinity || isWithin(value, 1, 1_000_000),
    'a number from 1 to 1000000, or Infinity',
  ),
  body: mustHave({
    limit: mayBe((value) => parseBodyLimit(String(value)) !== undefined, `a number of bytes, or ${BODY_LIMIT_RULE}`),
  }),
  database: mustHave({
    timeout: mayBe((value) => isWithin(value, 1, 3_600_000), 'milliseconds, from 1 to 3600000'),
    startTimeout: mayBe((value) => isWithin(value, 1, 3_600_000), 'milliseconds, from 1 to 3600000'),
    poolSize: mayBe((value) => isWithin(value, 1, 100), 'a number from 1 to 100'),
  }),
  onPlantCreated: mayBe((value) => typeof value === 'function', 'a function'),
};

/** The options of `forRootAsync` itself, which Nest 11.1 passes with the others. */
const ASYNC_OPTIONS = ['imports', 'inject', 'provideInjectionTokensFrom', 'useClass', 'useExisting', 'useFactory'];

/** Makes the one line about options that cannot be used. */
export function optionsError(complaint: string): TypeError {
  return new TypeError(`PlantsModule: ${complaint}`);
}

/**
 * Returns the options as they are.
 *
 * @param options as a host may give them without a compiler that checks them
 * @throws {TypeError} at the first option that is wrong, missing or unknown
 */
export function checkOptions(options: unknown): PlantsModuleOptions {
  if (!isObject(options)) throw optionsError('the options must be an object');
  const misplaced: Check = (_value, option) => {
    throw optionsError(`give the option ${option} to forRootAsync itself, beside useFactory`);
  };
  checkMembers(options, { ...fill(REGISTRATION, misplaced), ...OPTIONS });
  const { repository, authentication } = options;
  checkMembers({ repository, authentication }, OPTIONS);
  return options as unknown as PlantsModuleOptions;
}

/**
 * Returns the path without slashes at its ends, and the other two.
 *
 * @param given with the other options, whose values `checkOptions` checks: a test may replace them
 * @throws {TypeError} at the first one that is wrong or unknown
 */
export function checkRegistration(given: PlantsRegistration) {
  const others = Object.entries<unknown>({ ...given }).filter(([name]) => !ASYNC_OPTIONS.includes(name));
  checkMembers(Object.fromEntries(others), { ...REGISTRATION, ...fill(OPTIONS, () => undefined) });
  const { path = 'plants', name, isGlobal = false } = given;
  return { path: path.replace(/^\/|\/$/g, ''), name, isGlobal };
}

function fill(names: object, check: Check): Record<string, Check> {
  return Object.fromEntries(Object.keys(names).map((name) => [name, check]));
}

function checkMembers(given: object, checks: Readonly<Record<string, Check>>, parent = ''): void {
  for (const [name, value] of Object.entries<unknown>({ ...given })) {
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
    if (check === undefined) {
      const known = Object.keys(checks).map((option) => parent + option);
      throw optionsError(`there is no option ${parent}${name}; there are ${known.join(', ')}`);
    }
    check(value, parent + name);
  }
}

function mustHave(checks: Readonly<Record<string, Check>>): Check {
  return (value, option) => {
    if (value === undefined) return;
    if (!isObject(value)) throw optionsError(`the option ${option} must be { ${Object.keys(checks).join(', ')} }`);
    checkMembers(value, checks, `${option}.`);
  };
}

function mustBe(isValid: (value: unknown) => boolean, words: string): Check {
  return (value, option) => {
    if (!isValid(value)) throw optionsError(`the option ${option} must be ${words}`);
  };
}

/** As `mustBe`, or undefined. */
function mayBe(isValid: (value: unknown) => boolean, words: string): Check {
  return mustBe((value) => value === undefined || isValid(value), words);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isWithin(value: unknown, least: number, greatest: number): boolean {
  return Number.isInteger(value) && (value as number) >= least && (value as number) <= greatest;
}

function isClassOrInstance(value: unknown, method: string): boolean {
  const object: unknown = typeof value === 'function' ? value.prototype : value;
  return isObject(object) && method in object;
}
