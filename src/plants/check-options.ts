import { isBearerToken } from '../auth/bearer-auth-options.js';
import { BODY_LIMIT_RULE, parseBodyLimit } from './body-limit.js';
import type { PlantsModuleOptions } from './plants.module-definition.js';

type Test = (value: unknown) => boolean;

/** Tests the options whose mistakes would be silent or dangerous, and completes "must be …". TypeScript checks the rest. */
const RULES: Readonly<Record<keyof PlantsModuleOptions, readonly [isValid: Test, words: string] | undefined>> = {
  repository: [
    (value) => typeof value === 'string' || hasMethods(value, ['add', 'close', 'check', 'snapshot']),
    'a URL such as sqlite:data/plants.db, or a PlantRepository',
  ],
  authentication: [
    isAuthentication,
    "{ tokens: ['…'] } with letters, digits and -._~+/ in each token, { verifier } with a TokenVerifier, or false",
  ],
  body: [
    (value) => hasOnly(value, { limit: (limit) => parseBodyLimit(String(limit)) !== undefined }),
    `{ limit }, a number of bytes or ${BODY_LIMIT_RULE}`,
  ],
  database: [
    (value) => hasOnly(value, { timeout: isLimit, startTimeout: isLimit }),
    '{ timeout, startTimeout }, each a number from 1 to 3600000',
  ],
  scope: undefined,
  realm: undefined,
  onPlantCreated: undefined,
};

/** @throws {TypeError} at an option that is unknown or wrong; its message is one line */
export function checkOptions(options: PlantsModuleOptions): PlantsModuleOptions {
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(RULES, name));
  if (unknown !== undefined) {
    throw new TypeError(`PlantsModule: there is no option ${unknown}; there are ${Object.keys(RULES).join(', ')}`);
  }
  for (const [name, [isValid, words] = [() => true, '']] of Object.entries(RULES)) {
    const value: unknown = options[name as keyof PlantsModuleOptions];
    if (!isValid(value)) throw new TypeError(`PlantsModule: the option ${name} must be ${words}`);
  }
  return options;
}

/** Refuses an environment variable without a value as a token, too. */
function isAuthentication(value: unknown): boolean {
  if (value === false) return true;
  if (typeof value !== 'object' || value === null || Object.keys(value).length !== 1) return false;
  if ('verifier' in value) return hasMethods(value.verifier, ['verify']);
  const tokens: unknown = 'tokens' in value && value.tokens;
  const isToken: Test = (token) => typeof token === 'string' && isBearerToken(token);
  return Array.isArray(tokens) && tokens.length > 0 && tokens.every(isToken);
}

function hasMethods(value: unknown, names: readonly string[]): boolean {
  return names.every((name) => typeof (value as Record<string, unknown> | undefined)?.[name] === 'function');
}

/** Returns whether the value is undefined, or an object without other members than these, which pass their tests. */
function hasOnly(value: unknown = {}, tests: Readonly<Record<string, Test>>): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const members = Object.entries(value);
  return members.every(([name, member]) => name in tests && (member === undefined || tests[name]?.(member)));
}

function isLimit(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 3_600_000;
}
