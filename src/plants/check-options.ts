import { isRealm, isScope } from '../auth/bearer-auth-options.js';
import { isBearerToken } from '../auth/bearer-token.js';
import { BODY_LIMIT_RULE, parseBodyLimit } from './body-limit.js';
import type { PlantsModuleOptions, PlantsRegistration } from './plants.module-definition.js';

/** The condition of an option, and the words for it: "the option … must be …". */
type Rule = readonly [isValid: (value: unknown) => boolean, rule: string];

const MILLISECONDS: Rule = [isIntegerWithin(1, 3_600_000), 'milliseconds, from 1 to 3600000'];

/** The rules of `PlantsModuleOptions`. A parent's rule applies if its value has no members. */
const OPTIONS: Readonly<Record<string, Rule>> = {
  repository: [
    (value) => isInstanceOrClass(value, 'add') || (typeof value === 'string' && value !== ''),
    'a URL such as sqlite:data/plants.db, or a PlantRepository, as a class or an instance',
  ],
  authentication: [(value) => value === false, "{ tokens: ['…'] }, { verifier }, or false"],
  'authentication.tokens': [
    (value) => Array.isArray(value) && value.length > 0 && value.every((token) => isText(token, isBearerToken)),
    'a list of tokens, each of letters, digits and -._~+/, optionally followed by =',
  ],
  'authentication.verifier': [
    (value) => isInstanceOrClass(value, 'verify'),
    'a TokenVerifier, as a class or an instance',
  ],
  scope: [(value) => isText(value, isScope), 'printable ASCII without spaces, quotation marks and backslashes'],
  realm: [(value) => isText(value, isRealm), 'printable ASCII without quotation marks and backslashes'],
  refusedTokensPerMinute: [
    (value) => value === Infinity || isIntegerWithin(1, 1_000_000)(value),
    'a number from 1 to 1000000, or Infinity',
  ],
  body: [() => false, '{ limit }'],
  'body.limit': [(value) => parseBodyLimit(String(value)) !== undefined, `a number of bytes, or ${BODY_LIMIT_RULE}`],
  database: [() => false, '{ timeout, startTimeout, poolSize }'],
  'database.timeout': MILLISECONDS,
  'database.startTimeout': MILLISECONDS,
  'database.poolSize': [isIntegerWithin(1, 100), 'a number from 1 to 100'],
  onPlantCreated: [(value) => typeof value === 'function', 'a function'],
};

const REGISTRATION: Readonly<Record<keyof PlantsRegistration, Rule>> = {
  path: [
    (value) => isText(value, (text) => /^\/?[\w.~-]+(?:\/[\w.~-]+)*\/?$/.test(text)),
    'segments of letters, digits and _.~-, for example garden/plants',
  ],
  name: [(value) => isText(value, (text) => text !== ''), 'a text that is not empty'],
  isGlobal: [(value) => typeof value === 'boolean', 'true or false'],
};

/** An option is wrong, missing or unknown; the message is one line. */
export class PlantsOptionsError extends TypeError {
  override readonly name = 'PlantsOptionsError';

  constructor(complaint: string) {
    super(`PlantsModule: ${complaint}`);
  }
}

/**
 * Returns the options as they are.
 *
 * @param options as a host may give them without a compiler that checks them
 * @throws {PlantsOptionsError} at the first option that is wrong, missing or unknown
 */
export function checkOptions(options: unknown): PlantsModuleOptions {
  if (!hasMembers(options)) throw new PlantsOptionsError('the options must be an object');
  const required = { repository: undefined, authentication: undefined };
  for (const [name, value] of Object.entries<unknown>({ ...required, ...options })) {
    const isParent = Object.keys(OPTIONS).some((option) => option.startsWith(`${name}.`));
    const members = isParent && hasMembers(value) ? value : undefined;
    if (members === undefined) assertValid(name, value, OPTIONS, name in required);
    for (const member in members) assertValid(`${name}.${member}`, members[member], OPTIONS, name in required);
  }
  const { authentication } = options as unknown as PlantsModuleOptions;
  if (authentication !== false && Object.keys(authentication).length !== 1) {
    throw broken('authentication', OPTIONS.authentication);
  }
  return options as unknown as PlantsModuleOptions;
}

/**
 * Returns the path without slashes at its ends, and the other two.
 *
 * @throws {PlantsOptionsError} at the first one that is wrong or unknown
 */
export function checkRegistration(registration: PlantsRegistration) {
  // `forRoot` passes its other options, too; `checkOptions` checks those.
  for (const [name, value] of Object.entries(registration))
    if (name in REGISTRATION) assertValid(name, value, REGISTRATION);
  const { path = 'plants', name, isGlobal = false } = registration;
  return { path: path.replace(/^\/|\/$/g, ''), name, isGlobal };
}

function assertValid(name: string, value: unknown, rules: Readonly<Record<string, Rule>>, isRequired = false): void {
  const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
  if (rule === undefined && name in REGISTRATION) {
    throw new PlantsOptionsError(`give the option ${name} to forRootAsync itself, beside useFactory`);
  }
  if (rule === undefined) {
    const known = [...Object.keys(REGISTRATION), ...Object.keys(rules)];
    throw new PlantsOptionsError(`unknown option ${name}; the options are ${known.join(', ')}`);
  }
  if (value === undefined && !isRequired) return;
  if (!rule[0](value)) throw broken(name, rule);
}

function broken(name: string, rule: Rule | undefined): PlantsOptionsError {
  return new PlantsOptionsError(`the option ${name} must be ${String(rule?.[1])}`);
}

function hasMembers(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isInstanceOrClass(value: unknown, method: string): boolean {
  const object: unknown = typeof value === 'function' ? value.prototype : value;
  return typeof object === 'object' && object !== null && method in object;
}

function isText(value: unknown, test: (text: string) => boolean): boolean {
  return typeof value === 'string' && test(value);
}

function isIntegerWithin(least: number, greatest: number): (value: unknown) => boolean {
  return (value) => Number.isInteger(value) && (value as number) >= least && (value as number) <= greatest;
}
