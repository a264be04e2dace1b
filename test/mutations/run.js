import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
 * @property {string} spec the spec file that must see it
 * @property {string} [test] a part of the names of the tests to run, if not all of the spec file
 * @property {string} [project] the project of jest.config.js, if not sqlite
 * @property {boolean} [isBuilt] true if the tests run the program in dist/
 */

/** Milliseconds for a test: a defect may let it wait for an answer that never comes. */
const TEST_TIMEOUT = 10_000;

/** Milliseconds for all tests of a mutation: a defect may be a loop without an end. */
const RUN_TIMEOUT = 300_000;

const root = join(import.meta.dirname, '../..');
const copy = mkdtempSync(join(tmpdir(), 'plant-store-mutations-'));
process.on('exit', () => rmSync(copy, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));

/** @type {Mutation[]} */
const all = [contract, http, auth, plants, storage, service, commands].flat();
const parts = process.argv.slice(2);
const mutations = all.filter(({ name }) => parts.length === 0 || parts.some((part) => name.includes(part)));

copyCheckout();
const outdated = mutations.filter(({ file, find }) => read(file).split(find).length !== 2);
for (const { name, file } of outdated) console.log(`DOES NOT APPLY  ${name}: ${file} must have its text once`);
if (outdated.length > 0) process.exit(1);

const catching = [];
for (const mutation of mutations) {
  const began = performance.now();
  const outcome = attempt(mutation);
  const seconds = ((performance.now() - began) / 1_000).toFixed(1).padStart(5);
  console.log(`${seconds} s  ${mutation.name}: ${outcome}`);
}
const broken = failingWithout(catching);
for (const test of broken) console.log(`FAILS ANYWAY  ${test}`);
console.log(`${catching.length} of ${mutations.length} mutations are caught.`);
if (broken.length > 0 || catching.length < mutations.length) process.exit(1);

/** Copies the files of the checkout as they are, without those that Git ignores. */
function copyCheckout() {
  const list = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root });
  for (const file of list.toString().split('\0').slice(0, -1)) {
    if (existsSync(join(root, file))) cpSync(join(root, file), join(copy, file));
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
}

/** Returns the name of the test that catches a mutation, or says that there is none. */
function attempt(mutation) {
  try {
    const [test] = withMutation(mutation, () => runTests([mutation], mutation.test && literal(mutation.test)));
    if (test === undefined) return `SURVIVES, although: ${mutation.reason}`;
    catching.push({ ...mutation, test });
    return test;
  } catch (error) {
    return `DOES NOT RUN: ${error.message}`;
  }
}

function read(file) {
  return existsSync(join(copy, file)) ? readFileSync(join(copy, file), 'utf8') : '';
}

function withMutation({ file, find, replace, isBuilt }, call) {
  const source = read(file);
  writeFileSync(
    join(copy, file),
    source.replace(find, () => replace),
  );
  try {
    if (isBuilt) build();
    return call();
  } finally {
    writeFileSync(join(copy, file), source);
  }
}

function build() {
  execFileSync('node', ['build-if-changed.js'], { cwd: copy, stdio: ['ignore', 'ignore', 'pipe'] });
}

/** Runs spec files of one project, and returns the names of the tests that fail. */
function runTests(selected, pattern = '') {
  const result = join(copy, 'result.json');
  rmSync(result, { force: true });
  const options = [
    ...['--selectProjects', selected[0].project ?? 'sqlite', '--testPathPatterns', ...selected.map(({ spec }) => spec)],
    ...['--testNamePattern', pattern, '--testTimeout', TEST_TIMEOUT, '--cacheDirectory', join(copy, '.jest')],
    ...['--forceExit', '--json', '--outputFile', result],
  ];
  const jest = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', 'node_modules/jest/bin/jest.js'];
  const { stderr } = spawnSync('node', [...jest, ...options], {
    cwd: copy,
    encoding: 'utf8',
    timeout: RUN_TIMEOUT,
    killSignal: 'SIGKILL',
  });
  if (!existsSync(result)) throw new Error(stderr.slice(0, 2_000));
  const { testResults } = JSON.parse(readFileSync(result, 'utf8'));
  const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
  if (!tests.some(({ status }) => ['passed', 'failed'].includes(status)))
    throw new Error(`no test has run: ${stderr.slice(0, 2_000)}`);
  return tests.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName);
}

/** Runs the tests that have caught mutations without any: those that fail have caught nothing. */
function failingWithout(selected) {
  if (selected.some(({ isBuilt }) => isBuilt)) build();
  const projects = [...new Set(selected.map(({ project }) => project))];
  return projects.flatMap((name) => {
    const group = selected.filter(({ project }) => project === name);
    return runTests(group, group.map(({ test }) => `^${literal(test)}$`).join('|'));
  });
}

function literal(text) {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
