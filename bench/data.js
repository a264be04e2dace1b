/** Measures the data commands beside the tools of the databases: `sqlite3`, and COPY of PostgreSQL. */
import { spawn, spawnSync } from 'node:child_process';
import { closeSync, createWriteStream, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { clearInterval, setInterval } from 'node:timers';

const MAIN = join(import.meta.dirname, '../dist/main.js');
/** Maximum number of plants on PostgreSQL. */
const MAX_POSTGRES = 1_000_000;
const QUERY = 'SELECT id, name, tag FROM plants ORDER BY id';
const HEAD = ['', 'plants', 'seconds', 'user CPU s', 'peak MB', 'their tool', 'seconds', 'user CPU s', 'ratio'];

/**
 * Runs the data commands and the tools in turn.
 *
 * @param plants the number of plants that are moved on SQLite; on PostgreSQL, at most a million
 * @param url of an empty PostgreSQL database
 * @param query runs SQL there
 * @returns the cells of a table, with its head
 */
export async function compareData(plants, url, query) {
  const directory = mkdtempSync(join(tmpdir(), 'bench-'));
  const rows = [HEAD];
  let count = plants;
  const compare = async (name, store, parameters, tool, theirs) => {
    const peer = isInstalled(tool) ? await measure(directory, [tool, ...theirs]) : undefined;
    const own = await measure(directory, [process.execPath, MAIN, ...parameters], { DATABASE_URL: store });
    const theirCells = peer
      ? [tool, peer.seconds.toFixed(1), peer.cpu.toFixed(1), (peer.seconds / own.seconds).toFixed(2)]
      : [`${tool} is not installed`, '', '', ''];
    rows.push([name, count, own.seconds.toFixed(1), own.cpu.toFixed(1), own.memory.toFixed(0), ...theirCells]);
    console.error(rows.at(-1).join(' '));
  };
  const [sqlite, csv] = ['sqlite:ours.db', ['--format', 'csv']];
  try {
    await writeCsv(join(directory, 'plants.csv'), count);
    await compare('SQLite import', sqlite, ['import', ...csv, 'plants.csv'], 'sqlite3', [
      'theirs.db',
      'CREATE TABLE plants (id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT)',
      '.import --csv --skip 1 plants.csv plants',
    ]);
    await compare('SQLite export', sqlite, ['export', ...csv, 'ours.csv'], 'sqlite3', [
      '-csv',
      '-header',
      'ours.db',
      '.output theirs.csv',
      QUERY,
    ]);
    count = Math.min(plants, MAX_POSTGRES);
    if (count < plants) await writeCsv(join(directory, 'plants.csv'), count);
    await query('CREATE TABLE theirs (id bigint PRIMARY KEY, name text NOT NULL, tag text)');
    await compare('PostgreSQL import', url, ['import', ...csv, 'plants.csv'], 'psql', [
      url,
      '-qc',
      "\\copy theirs FROM 'plants.csv' CSV HEADER",
    ]);
    await compare('PostgreSQL export', url, ['export', ...csv, 'ours-postgres.csv'], 'psql', [
      url,
      '-qc',
      `\\copy (${QUERY}) TO 'theirs-postgres.csv' CSV HEADER`,
    ]);
    return rows;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Writes plants as CSV: a third of them has no tag, and a third has a tag with special characters. */
async function writeCsv(file, plants) {
  const tags = ['', 'indoor', '"a, ""b"""'];
  function* chunks() {
    yield 'id,name,tag\r\n';
    for (let next = 0; next < plants; next += 10_000) {
      const ids = Array.from({ length: Math.min(10_000, plants - next) }, (_, index) => next + index);
      yield ids.map((id) => `${7 * id},plant ${id},${tags[id % 3]}\r\n`).join('');
    }
  }
  await pipeline(Readable.from(chunks()), createWriteStream(file));
}

function isInstalled(tool) {
  return spawnSync(tool, ['--version']).status === 0;
}

/** Runs a program to its end, and samples its CPU seconds in user mode and its peak RSS in megabytes. */
async function measure(directory, [program, ...parameters], environment) {
  const log = openSync(join(directory, 'log'), 'w');
  const started = performance.now();
  const child = spawn(program, parameters, {
    cwd: directory,
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'ignore', log],
  });
  let [cpu, memory] = [0, 0];
  const timer = setInterval(() => {
    try {
      cpu = Number(readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1].split(' ')[11]) / 100;
      memory = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024 || memory;
    } catch {
      // It has just ended.
    }
  }, 20);
  const status = await new Promise((resolve) => child.once('exit', resolve));
  const seconds = (performance.now() - started) / 1000;
  clearInterval(timer);
  closeSync(log);
  if (status !== 0) throw new Error(`${program} ended with ${status}: ${readFileSync(join(directory, 'log'), 'utf8')}`);
  return { seconds, cpu, memory };
}
