import { isRealm, isScope } from '../auth/bearer-auth-options.js';
import { isBearerToken } from '../auth/bearer-token.js';
import type { PlantRepository } from '../storage/plant-repository.js';
import { BODY_LIMIT_RULE, parseBodyLimit } from './body-limit.js';
import type { PlantsInstance, PlantsModuleOptions, PlantsRegistration } from './plants.module-definition.js';

/** Throws a TypeError, whose message is one line, if the value of an option is wrong. */
type Check = (value: unknown, option: string) => void;

const authenticationMembers = objectOf({
  tokens: mustBe(
    (value) =>
      Array.isArray(value) && value.length > 0 && value.every((token) => isString(token) && isBearerToken(token)),
    'a list of tokens, each of letters, digits and -._~+/, then any =',
  ),
  verifier: mustBe((value) => isClassOrInstance(value, 'verify'), 'a TokenVerifier, as a class or an instance'),
});

const REGISTRATION: Readonly<Record<keyof PlantsRegistration, Check>> = {
  path: mayBe(isPath, 'segments of letters, digits and _.~-, not . or .., for example garden/plants'),
  name: mayBe((value) => isString(value) && value !== '', 'a text that is not empty'),
  isGlobal: mayBe((value) => typeof value === 'boolean', 'true or false'),
};

const REPOSITORY_METHODS: readonly (keyof PlantRepository)[] = ['add', 'close', 'check', 'snapshot'];

const OPTIONS: Readonly<Record<keyof PlantsModuleOptions, Check>> = {
  repository: mustBe(
    (value) => (isString(value) && value !== '') || isClassOrInstance(value, ...REPOSITORY_METHODS),
    'a URL such as sqlite:data/plants.db, or a class that extends PlantRepository, with add and close, or its instance',
  ),
  authentication(value, option) {
    if (value === false) return;
    mustBe((given) => isObject(given) && Object.keys(given).length === 1, "{ tokens: ['…'] }, { verifier }, or false")(
      value,
      option,
    );
    authenticationMembers(value, option);
  },
  scope: mayBe(
    (value) => isString(value) && isScope(value),
    'printable ASCII without spaces, quotation marks and backslashes',
  ),
  realm: mayBe((value) => isString(value) && isRealm(value), 'printable ASCII without quotation marks and backslashes'),
  body: objectOf({
    limit: mayBe((value) => parseBodyLimit(String(value)) !== undefined, `a number of bytes, or ${BODY_LIMIT_RULE}`),
  }),
  database: objectOf({
    timeout: mayBe((value) => isWithin(value, 1, 3_600_000), 'milliseconds, from 1 to 3600000'),
    startTimeout: mayBe((value) => isWithin(value, 1, 3_600_000), 'milliseconds, from 1 to 3600000'),
  }),
  onPlantCreated: mayBe((value) => typeof value === 'function', 'a function'),
};

/** The ways in which `forRootAsync` gets the options. */
const SOURCES = ['useFactory', 'useClass', 'useExisting'];

/** The other options of `forRootAsync`, which Nest reads. */
const OPTIONS_OF_SOURCES = ['imports', 'inject', 'provideInjectionTokensFrom'];

/** Makes the one line about options that cannot be used. */
function optionsError(complaint: string): TypeError {
  return new TypeError(`PlantsModule: ${complaint}`);
}

/**
 * Returns the options as they are.
 *
 * @param options as a host may give them without a compiler that checks them
 * @throws {TypeError} at the first option that is wrong, missing or unknown
 */
export function checkOptions(options: unknown): PlantsModuleOptions {
  assertObject(options);
  const misplaced: Check = (_value, option) => {
    throw optionsError(`give the option ${option} to forRootAsync itself, beside useFactory`);
  };
  checkMembers(options, { ...fill(Object.keys(REGISTRATION), misplaced), ...OPTIONS });
  const { repository, authentication } = options;
  checkMembers({ repository, authentication }, OPTIONS);
  return options as unknown as PlantsModuleOptions;
}

/**
 * Checks the options of `forRoot` that Nest needs before the others. `checkOptions` checks the values of the others: a
 * test may replace them.
 *
 * @throws {TypeError} at the first one that is wrong or unknown
 */
export function checkRegistration(options: unknown): void {
  assertObject(options);
  checkMembers(options, { ...REGISTRATION, ...fill(Object.keys(OPTIONS), () => undefined) });
}

/**
 * Checks the options of `forRootAsync` itself.
 *
 * @throws {TypeError} at the first one that is wrong, missing or unknown
 */
export function checkAsyncRegistration(options: unknown): void {
  assertObject(options);
  const given = Object.keys(options).filter((name) => options[name] !== undefined);
  const misplaced = given.find((name) => Object.hasOwn(OPTIONS, name));
  if (misplaced !== undefined) throw optionsError(`return the option ${misplaced} from useFactory, not beside it`);
  checkMembers(options, { ...REGISTRATION, ...fill([...SOURCES, ...OPTIONS_OF_SOURCES], () => undefined) });
  if (given.filter((name) => SOURCES.includes(name)).length !== 1) {
    throw optionsError(`forRootAsync must have one of ${SOURCES.join(', ')}`);
  }
}

/**
 * Checks that each instance of the module has a path and a name of its own.
 *
 * @param instances all instances of the application, `instance` among them
 * @throws {TypeError} if another instance has the same path or name, or one that is too similar
 */
export function assertDistinct(instance: PlantsInstance, instances: readonly PlantsInstance[]): void {
  for (const other of instances) {
    const resemblance = other === instance ? undefined : (samePath(other, instance) ?? sameName(other, instance));
    if (resemblance !== undefined) {
      throw optionsError(`two instances have ${resemblance}: give each a path and a name of its own`);
    }
  }
}

function samePath({ path: one }: PlantsInstance, { path: other }: PlantsInstance): string | undefined {
  if (one === other) return `the path ${one}`;
  // Express ignores the case, and so do people.
  return one.toLowerCase() === other.toLowerCase()
    ? `the paths ${one} and ${other}, which differ only in case`
    : undefined;
}

/** Operation ids of an OpenAPI document begin with the name of the class. */
function sameName(one: PlantsInstance, other: PlantsInstance): string | undefined {
  if (one.name === other.name) return one.name === undefined ? 'no name' : `the name ${one.name}`;
  const className = one.controller.name;
  if (className !== other.controller.name) return undefined;
  const [first, second] = [one, other].map(({ name }) => (name === undefined ? 'none' : `'${name}'`));
  return `the names ${first} and ${second}, which make one class name, ${className}`;
}

function fill(names: readonly string[], check: Check): Record<string, Check> {
  return Object.fromEntries(names.map((name) => [name, check]));
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

/** Checks an object without other members than these, or undefined. */
function objectOf(checks: Readonly<Record<string, Check>>): Check {
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

function assertObject(options: unknown): asserts options is Readonly<Record<string, unknown>> {
  if (!isObject(options)) throw optionsError('the options must be an object');
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Clients resolve the segments `.` and `..`, and send another path (RFC 3986 §5.2.4). */
function isPath(value: unknown): boolean {
  const segments = isString(value) ? value.replace(/^\/|\/$/g, '').split('/') : [''];
  return segments.every((segment) => /^(?!\.{1,2}$)[\w.~-]+$/.test(segment));
}

function isString(value: unknown): value is string {
  return typeof value === 'string';
}

function isWithin(value: unknown, least: number, greatest: number): boolean {
  return Number.isInteger(value) && (value as number) >= least && (value as number) <= greatest;
}

function isClassOrInstance(value: unknown, ...methods: readonly string[]): boolean {
  const object: unknown = typeof value === 'function' ? value.prototype : value;
  return isObject(object) && methods.every((method) => typeof object[method] === 'function');
}
