import { isBearerToken, isRealm, isScope } from '../auth/bearer-syntax.js';
import type { PlantRepository } from '../storage/plant-repository.js';
import { BODY_LIMIT_RULE, parseBodyLimit } from './body-limit.js';
import type { ASYNC_OPTIONS_TYPE, PlantsModuleOptions } from './plants.module-definition.js';

type Test = (value: unknown) => boolean;

/** The test of each option, and the words that complete "must be …". */
const RULES: Readonly<Record<keyof PlantsModuleOptions, readonly [isValid: Test, words: string]>> = {
  repository: [
    (value) => typeof value === 'string' || isRepository(value),
    'a URL such as sqlite:data/plants.db, or an object with the methods of PlantRepository',
  ],
  authentication: [
    isAuthentication,
    "{ tokens: ['…'] } with letters, digits and -._~+/ in each token, { verifier } with an object that has the method verify, or false",
  ],
  body: [(value) => hasOnly(value, { limit: isBodyLimit }), `{ limit }, a number of bytes or ${BODY_LIMIT_RULE}`],
  database: [
    (value) => hasOnly(value, { timeout: isLimit, startTimeout: isLimit }),
    '{ timeout, startTimeout }, each a number from 1 to 3600000',
  ],
  scope: [optional(isScope), 'one word such as plants:write, without spaces, quotation marks and backslashes'],
  realm: [optional(isRealm), 'a text of printable ASCII characters without quotation marks and backslashes'],
  onPlantCreated: [(value) => value === undefined || typeof value === 'function', 'a function'],
};

/** @throws {TypeError} at an option that is unknown or wrong; its message is one line */
export function checkOptions(options: PlantsModuleOptions): PlantsModuleOptions {
  assertOptions(options);
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(RULES, name));
  if (unknown !== undefined) {
    throw new TypeError(`PlantsModule: there is no option ${unknown}; there are ${Object.keys(RULES).join(', ')}`);
  }
  for (const [name, [isValid, words]] of Object.entries(RULES)) {
    const value: unknown = options[name as keyof PlantsModuleOptions];
    if (!isValid(value)) throw new TypeError(`PlantsModule: the option ${name} must be ${words}`);
  }
  return options;
}

/** @throws {TypeError} unless the value is an object, as the options must be */
export function assertOptions(options: unknown): void {
  if (typeof options === 'object' && options !== null) return;
  throw new TypeError('PlantsModule: the options must be an object with repository and authentication');
}

/** @throws {TypeError} unless a function or a class makes the options */
export function assertAsyncOptions(options: Partial<typeof ASYNC_OPTIONS_TYPE> | undefined): void {
  const { useFactory, useClass, useExisting } = options ?? {};
  if (typeof useFactory === 'function' || typeof useClass === 'function' || useExisting !== undefined) return;
  throw new TypeError('PlantsModule: forRootAsync must have useFactory, useClass or useExisting');
}

/** Refuses an environment variable without a value as a token, too. */
function isAuthentication(value: unknown): boolean {
  if (value === false) return true;
  if (typeof value !== 'object' || value === null || Object.keys(value).length !== 1) return false;
  if ('verifier' in value) return hasMethods(value.verifier, ['verify']);
  const tokens: unknown = 'tokens' in value && value.tokens;
  const isToken: Test = (token) => typeof token === 'string' && isBearerToken(token);
  return Array.isArray(tokens) && tokens.length > 0 && Array.from<unknown>(tokens).every(isToken);
}

function isRepository(value: unknown): boolean {
  if (!hasMethods(value, ['add', 'close'])) return false;
  const { check, snapshot } = value as Partial<PlantRepository>;
  return [check, snapshot].every((method) => method === undefined || typeof method === 'function');
}

function hasMethods(value: unknown, names: readonly string[]): boolean {
  return names.every((name) => typeof (value as Record<string, unknown> | undefined)?.[name] === 'function');
}

/** Returns whether the value is undefined, or an object without other members than these, which pass their tests. */
function hasOnly(value: unknown = {}, tests: Readonly<Record<string, Test>>): boolean {
  // A Map or a list would hide its members.
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return false;
  const members = Object.entries(value);
  return members.every(
    ([name, member]) => Object.hasOwn(tests, name) && (member === undefined || tests[name]?.(member) === true),
  );
}

function optional(isValid: (text: string) => boolean): Test {
  return (value) => value === undefined || (typeof value === 'string' && isValid(value));
}

function isBodyLimit(value: unknown): boolean {
  return (typeof value === 'number' || typeof value === 'string') && parseBodyLimit(`${value}`) !== undefined;
}

function isLimit(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 3_600_000;
}
