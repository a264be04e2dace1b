/** The programs that are compared: how they start, what they must answer, and what they cost. */
import { execFile, spawn } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The driver of the service. */
export const { DatabaseSync } = await import(
  Number.parseInt(process.versions.node) >= 24 ? 'node:sqlite' : '@photostructure/sqlite'
);

export const PEERS = join(import.meta.dirname, 'peers');
export const TOKEN = randomBytes(32).toString('base64url');
const SERVER_CORE = '0';
const CLIENT_CORE = '1';
export const ALL_CORES = `0-${availableParallelism() - 1}`;

/** Starts the service of a built checkout as its `npm start` does, with the flags of V8. */
const service = (directory) => ({
  command: [process.execPath, ...startFlags(directory), resolve(directory, 'dist/main.js')],
  environment: { ACCESS_TOKENS: TOKEN, PORT: '0', MANAGEMENT_PORT: '0', DATABASE_URL: 'sqlite:plants.db' },
  withoutLog: { LOG_REQUESTS: 'failed' },
});
const peer = (file, { runtime = process.execPath, ...rest } = {}) => ({
  command: [runtime, join(PEERS, file)],
  withoutLog: { REQUEST_LOG: 'off' },
  ...rest,
});

/** The programs, which are started in the directory of their data; each prints the address that it listens on. */
export const PROGRAMS = {
  'plant-store': service(join(import.meta.dirname, '..')),
  bare: peer('bare.js', { keepsNothing: true }),
  'by-hand': peer('by-hand.js'),
  'fastify-sqlite': peer('fastify-sqlite.js'),
  'elysia-bun': peer('elysia-bun.js', { runtime: join(PEERS, 'node_modules/.bin/bun') }),
  'nest-floor': peer('dist/nest-floor.js'),
  'nest-express': peer('dist/nest-express.js'),
  'fastify-pg': peer('fastify-pg.js'),
};

function startFlags(directory) {
  const { scripts } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
  return scripts.start.split(' ').slice(1, -1);
}

/** Adds the service of another built checkout, as the program `before`. */
export function addBefore(directory) {
  PROGRAMS.before = service(directory);
}

/**
 * Starts a program, and checks that it answers correctly.
 *
 * @param options.cores of the program: by default one, which the load generator does not use
 * @param options.directory of its data, which exists; by default a new one
 * @param options.client of the PostgreSQL database that it uses
 */
export async function start(
  name,
  { cores = SERVER_CORE, directory, client, preload, workers, log, check = true } = {},
) {
  const { command, environment, withoutLog, keepsNothing } = PROGRAMS[name];
  const program = {
    name,
    client,
    keepsNothing,
    directory: directory ?? mkdtempSync(join(tmpdir(), 'bench-')),
    /** Plants that were created by the check. */
    checked: 0,
  };
  program.child = spawn('taskset', ['-c', cores, ...command], {
    cwd: program.directory,
    env: {
      PATH: process.env.PATH,
      NODE_ENV: 'production',
      TOKEN,
      ...environment,
      ...(log === false && withoutLog),
      ...(client && { DATABASE_URL: urlOf(client) }),
      ...(preload && { LD_PRELOAD: preload }),
      // Workers need a fixed port.
      ...(workers > 1 && { WORKERS: String(workers), PORT: String(await freePort()) }),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  program.ended = new Promise((resolve) => program.child.once('exit', resolve));
  let output = '';
  const origin = new Promise((resolve) => {
    program.child.stdout.on('data', (text) => {
      output += text;
      const [, found] = /Listening: (?:POST )?(http:\/\/[\w.:]+)/.exec(output) ?? [];
      if (found === undefined) return;
      program.listening = performance.now();
      // Read the log, on the generator's core, as a log collector would.
      program.child.stdout.removeAllListeners('data').resume();
      resolve(found);
    });
  });
  program.origin = await Promise.race([origin, program.ended]);
  if (typeof program.origin !== 'string') throw new Error(`${name} did not start: ${output}`);
  if (workers > 1 && childrenOf(program.child.pid).length < workers) {
    await stop(program);
    throw new Error(`${name} has no ${workers} workers: this version does not know WORKERS`);
  }
  if (check) await assertCorrect(program);
  return program;
}

/** Returns a port that is free now. */
async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Runs this process, with all its threads, on these cores: by default on the one that the server does not use. */
export function pin(cores = CLIENT_CORE) {
  return run('taskset', ['-acp', cores, String(process.pid)]);
}

async function assertCorrect(program) {
  const post = (token) =>
    fetch(`${program.origin}/plants`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', Connection: 'close' },
      body: JSON.stringify({ id: randomInt(2 ** 40), name: 'Ficus', tag: 'giant' }),
    });
  const answer = await post(TOKEN);
  const text = await answer.text();
  if (answer.status !== 200 || JSON.stringify(JSON.parse(text)) !== '{"name":"Ficus","tag":"giant"}') {
    throw new Error(`${program.name} answered ${answer.status} ${text}`);
  }
  program.checked = 1;
  if (program.keepsNothing) return;
  const stranger = await post('stranger');
  await stranger.text();
  if (stranger.status === 200) throw new Error(`${program.name} answered a stranger`);
}

/** Returns the URL of the database of a `pg` client. */
export function urlOf({ user, password, host, port, database }) {
  return `postgres://${user}:${password}@${host}:${port}/${database}`;
}

/** Runs wrk; any answer other than 200 is an error. */
export async function load(program, connections, seconds, { cores = CLIENT_CORE, closesConnections = false } = {}) {
  const parameters = [
    ...['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '60s'],
    ...['-s', join(import.meta.dirname, 'creates.lua'), `${program.origin}/plants`],
  ];
  const seed = String(randomInt(2 ** 32));
  const before = cpuOf(program.child.pid);
  const beforeAll = cpuOfTree(program.child.pid);
  // Run asynchronously, because the logs of the programs are read meanwhile.
  const { stdout: output } = await run('taskset', [
    '-c',
    cores,
    'wrk',
    ...parameters,
    '--',
    TOKEN,
    seed,
    String(closesConnections),
  ]);
  const result = JSON.parse(output.slice(output.indexOf('{')));
  result.rate = result.answers / result.seconds;
  result.cpu = (cpuOfTree(program.child.pid) - beforeAll) / result.answers;
  /** The part of the first process, if it has others. */
  result.primaryCpu = (cpuOf(program.child.pid) - before) / result.answers;
  if (result.failures > 0) throw new Error(`${program.name}: ${result.failures} failures:\n${output}`);
  return result;
}

/**
 * Checks that every answer has a row; requests that the generator abandoned at its end may have one, too.
 *
 * @param programs with stores of their own
 */
export async function assertStored(programs, answered, unanswered) {
  const [{ name, keepsNothing }] = programs;
  if (keepsNothing) return;
  const counts = await Promise.all(programs.map(countRows));
  const rows = counts.reduce((sum, count) => sum + count);
  if (rows < answered || rows > answered + unanswered) {
    throw new Error(`${name}: ${answered} answers, but ${rows} rows`);
  }
}

async function countRows({ client, directory }) {
  const query = 'SELECT count(*) AS rows FROM plants';
  if (client) return Number((await client.query(query)).rows[0].rows);
  const database = new DatabaseSync(join(directory, 'plants.db'), { readOnly: true });
  const { rows } = database.prepare(query).get();
  database.close();
  return rows;
}

export async function stop(program, { keep = false } = {}) {
  program.child.kill('SIGTERM');
  const timer = setTimeout(() => program.child.kill('SIGKILL'), 15_000);
  await program.ended;
  clearTimeout(timer);
  if (!keep) rmSync(program.directory, { recursive: true });
}

/** Returns megabytes. taskset replaces itself with the program, so the process is the program. */
export function memoryOf({ child }, field) {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
  return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)[1]) / 1024;
}

/** Returns the CPU time since the start in microseconds, in user and kernel mode, at a resolution of 10 ms. */
function cpuOf(pid) {
  const [user, system] = timesOf(pid);
  return (user + system) * 10_000;
}

/** Returns the CPU time of a process and its children in microseconds, of those that have ended, too. */
export function cpuOfTree(pid) {
  const ticks = timesOf(pid).reduce((sum, part) => sum + part);
  return ticks * 10_000 + childrenOf(pid).reduce((sum, child) => sum + cpuOfTree(child), 0);
}

/** Returns utime, stime, cutime and cstime, see proc(5); zeros for a process that has ended. */
function timesOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ').slice(11, 15).map(Number);
  } catch {
    return [0, 0, 0, 0];
  }
}

function childrenOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}
