/** The programs that are compared: how they start, what they must answer, and what they cost. */
import { execFile, spawn } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The driver of the service. */
const { DatabaseSync } = await import(
  Number.parseInt(process.versions.node) >= 24 ? 'node:sqlite' : '@photostructure/sqlite'
);

export const PEERS = join(import.meta.dirname, 'peers');
const TOKEN = randomBytes(32).toString('base64url');
const SERVER_CORE = '0';
const CLIENT_CORE = '1';
export const ALL_CORES = `0-${availableParallelism() - 1}`;

/** Starts the service of a built checkout as its `npm start` does. */
function service(directory) {
  const { scripts } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
  return {
    command: [process.execPath, ...scripts.start.split(' ').slice(1, -1), resolve(directory, 'dist/main.js')],
    environment: { ACCESS_TOKENS: TOKEN, PORT: '0', MANAGEMENT_PORT: '0', DATABASE_URL: 'sqlite:plants.db' },
  };
}

const peer = (file) => ({ command: [process.execPath, join(PEERS, file)] });

/** The programs, which are started in the directory of their data; each prints the address that it listens on. */
const PROGRAMS = {
  'plant-store': service(join(import.meta.dirname, '..')),
  'by-hand': peer('by-hand.js'),
  'nest-floor': peer('dist/nest-floor.js'),
  'fastify-sqlite': peer('fastify-sqlite.js'),
  'fastify-pg': peer('fastify-pg.js'),
};

/** Adds the service of another built checkout, and returns its name. */
export function addBefore(directory) {
  const name = basename(resolve(directory));
  PROGRAMS[name] = service(directory);
  return name;
}

/**
 * Starts a program, and checks that it answers correctly.
 *
 * @param options.cores of the program: by default one, which the load generator does not use
 * @param options.client of the PostgreSQL database that it uses
 */
export async function start(name, { cores = SERVER_CORE, client, check = true } = {}) {
  const { command, environment } = PROGRAMS[name];
  const program = { name, client, directory: mkdtempSync(join(tmpdir(), 'bench-')), checked: 0 };
  program.child = spawn('taskset', ['-c', cores, ...command], {
    cwd: program.directory,
    env: {
      PATH: process.env.PATH,
      NODE_ENV: 'production',
      TOKEN,
      ...environment,
      ...(client && { DATABASE_URL: urlOf(client) }),
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
  if (check) await assertCorrect(program);
  return program;
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
  const stranger = await post('stranger');
  await stranger.text();
  if (stranger.status === 200) throw new Error(`${program.name} answered a stranger`);
}

function urlOf({ user, password, host, port, database }) {
  return `postgres://${user}:${password}@${host}:${port}/${database}?sslmode=disable`;
}

/** Runs wrk; any answer other than 200 is an error. */
export async function load(program, connections, seconds, cores = CLIENT_CORE) {
  const parameters = [
    ...['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '60s'],
    ...['-s', join(import.meta.dirname, 'creates.lua'), `${program.origin}/plants`],
    ...['--', TOKEN, String(randomInt(2 ** 32))],
  ];
  const before = cpuOf(program.child.pid);
  // Run asynchronously, because the logs of the programs are read meanwhile.
  const { stdout: output } = await run('taskset', ['-c', cores, 'wrk', ...parameters]);
  const result = JSON.parse(output.slice(output.indexOf('{')));
  if (result.failures > 0) throw new Error(`${program.name}: ${result.failures} failures:\n${output}`);
  return {
    ...result,
    rate: result.answers / result.seconds,
    cpu: (cpuOf(program.child.pid) - before) / result.answers,
  };
}

/** Checks that every answer has a row; requests that the generator abandoned at its end may have one, too. */
export async function assertStored(program, answered, unanswered) {
  const rows = await countRows(program);
  if (rows < answered || rows > answered + unanswered) {
    throw new Error(`${program.name}: ${answered} answers, but ${rows} rows`);
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

export async function stop(program) {
  program.child.kill('SIGTERM');
  const timer = setTimeout(() => program.child.kill('SIGKILL'), 15_000);
  await program.ended;
  clearTimeout(timer);
  rmSync(program.directory, { recursive: true });
}

/** Returns the peak resident set in megabytes. taskset replaces itself with the program, so the process is the program. */
export function memoryOf({ child }) {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))[1]) / 1024;
}

/** Returns the CPU time of a process and its children in microseconds, at a resolution of 10 ms. */
export function cpuOf(pid) {
  try {
    // utime, stime, cutime and cstime, see proc(5).
    const ticks = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ').slice(11, 15).map(Number);
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
    return [...ticks.map((tick) => tick * 10_000), ...children.map(cpuOf)].reduce((sum, part) => sum + part);
  } catch {
    // It has ended.
    return 0;
  }
}
