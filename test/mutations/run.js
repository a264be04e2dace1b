import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { parseArgs, promisify } from 'node:util';
import auth from './auth.js';
import commands from './commands.js';
import contract from './contract.js';
import http from './http.js';
import plants from './plants.js';
import service from './service.js';
import storage from './storage.js';

/**
 * A defect that a developer could make.
 *
 * @typedef {object} Mutation
 * @property {string} name
 * @property {string} reason the sentence that the defect breaks
 * @property {string} file the source with the defect
 * @property {string} find a text that the source has exactly once
 * @property {string} replace the text instead
 * @property {string} spec the spec file that must see it, without the endings of its name
 * @property {string} [test] a part of the names of the tests to run, if not all of the spec file
 * @property {string} [project] the project of jest.config.js, if not sqlite
 * @property {boolean} [isBuilt] true if the tests run the program in dist/
 */

/** Milliseconds for a test, unless it has a limit of its own: a defect may let it wait for ever. */
const TEST_TIMEOUT = 10_000;

/** Milliseconds for all tests of a mutation: a defect may be a loop without an end. */
const RUN_TIMEOUT = 300_000;

/** The endings of the names of spec files. */
const ENDINGS = ['.spec.ts', '.e2e-spec.ts', '.postgres-spec.ts'];

/** Stands for the name of a failing test where the defect ends Jest, or lets it run for too long. */
const NO_RESULT = '(the tests end without a result)';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const copy = mkdtempSync(join(tmpdir(), 'plant-store-mutations-'));
process.on('exit', () => rmSync(copy, { recursive: true, force: true, maxRetries: 10 }));
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));

/** @type {Mutation[]} */
const all = [contract, http, auth, plants, storage, service, commands].flat();
const {
  values: { check },
  positionals: parts,
} = parseArgs({
  allowPositionals: true,
  // Only tells which mutations no longer apply, in a second.
  options: { check: { type: 'boolean' } },
});
const mutations = all.filter(({ name }) => parts.length === 0 || parts.some((part) => name.includes(part)));

await copyCheckout();
const outdated = mutations.filter(({ file, find }) => read(file).split(find).length !== 2);
const withoutSpec = mutations.filter(
  ({ spec }) => !ENDINGS.some((ending) => existsSync(join(copy, `${spec}${ending}`))),
);
for (const { name, file, find } of outdated) console.log(`DOES NOT APPLY  ${name}: ${file} must have once: ${find}`);
for (const { name, spec } of withoutSpec) console.log(`HAS NO SPEC  ${name}: ${spec}`);
if (outdated.length + withoutSpec.length > 0) process.exit(1);
if (check) process.exit(0);

/** The mutations that are caught, each with a pattern of the names of the tests that catch it. */
const caught = [];
for (const mutation of mutations) {
  const began = Date.now();
  const outcome = await attempt(mutation).catch(({ message }) => `DOES NOT RUN: ${message}`);
  console.log(`${((Date.now() - began) / 1_000).toFixed(1).padStart(5)} s  ${mutation.name}: ${outcome}`);
}
const broken = await failingWithoutMutation();
for (const test of broken) console.log(`FAILS ANYWAY  ${test}`);
console.log(`${caught.length} of ${mutations.length} mutations are caught.`);
process.exit(broken.length > 0 || caught.length < mutations.length ? 1 : 0);

/** Copies the files of the checkout as they are, without those that Git ignores. */
async function copyCheckout() {
  const { stdout } = await run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root });
  for (const file of stdout.split('\0').slice(0, -1)) {
    if (existsSync(join(root, file))) cpSync(join(root, file), join(copy, file));
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
}

/** Returns the source of a file, or nothing if there is no such file. */
function read(file) {
  return existsSync(join(copy, file)) ? readFileSync(join(copy, file), 'utf8') : '';
}

/** Returns the name of the test that catches a mutation, or says that there is none. */
async function attempt(mutation) {
  const { reason, file, find, replace, test: part } = mutation;
  const source = read(file);
  writeFileSync(
    join(copy, file),
    source.replace(find, () => replace),
  );
  try {
    const [test] = await failingTests([mutation], part && literal(part));
    if (test === undefined) return `SURVIVES, although: ${reason}`;
    caught.push({ ...mutation, pattern: test === NO_RESULT ? literal(part ?? '') : `^${literal(test)}$` });
    return test;
  } finally {
    writeFileSync(join(copy, file), source);
  }
}

/** Runs tests of one project, and returns the names of those that fail. */
async function failingTests(selected, pattern = '') {
  if (selected.some(({ isBuilt }) => isBuilt)) await run('node', ['build-if-changed.js'], { cwd: copy });
  const result = join(copy, 'result.json');
  rmSync(result, { force: true });
  const options = [
    ...['--selectProjects', selected[0].project ?? 'sqlite'],
    ...['--testPathPatterns', ...selected.map(({ spec }) => `${spec}\\.`)],
    ...['--testNamePattern', pattern, '--testTimeout', `${TEST_TIMEOUT}`, '--cacheDirectory', join(copy, '.jest')],
    ...['--forceExit', '--json', '--outputFile', result],
  ];
  const jest = ['--experimental-vm-modules', 'node_modules/jest/bin/jest.js', ...options];
  const limits = { timeout: RUN_TIMEOUT, killSignal: 'SIGKILL', maxBuffer: Infinity };
  const { stderr } = await run('node', jest, { cwd: copy, ...limits }).catch((error) => error);
  if (!existsSync(result)) return [NO_RESULT];
  const { testResults } = JSON.parse(readFileSync(result, 'utf8'));
  const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
  if (!tests.some(({ status }) => ['passed', 'failed'].includes(status))) throw new Error(`no test has run: ${stderr}`);
  return tests.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName);
}

/** Runs the tests that have caught mutations without any: those that fail have caught nothing. */
async function failingWithoutMutation() {
  const failing = [];
  for (const project of new Set(caught.map((mutation) => mutation.project))) {
    const group = caught.filter((mutation) => mutation.project === project);
    failing.push(...(await failingTests(group, group.map(({ pattern }) => pattern).join('|'))));
  }
  return failing;
}

/** Returns a regular expression that matches this text alone. */
function literal(text) {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
