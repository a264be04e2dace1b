/**
 * A disk that fails, as the system calls show it to SQLite: nothing else can make a healthy disk fail. By hand, because
 * it needs strace and the right to trace: npm run test:faults
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { contentOf, violationsIn } from '../support/history.js';
import { type Row, TOKEN } from '../support/service.js';
import { ServiceProcess } from '../support/service-process.js';
import { openSqliteFile } from '../support/sqlite-file.js';
import { Workload } from '../support/workload.js';

const OPERATIONS = 5_000;

describe('A disk', () => {
  let directory: string;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
  });

  afterEach(() => rmSync(directory, { recursive: true }));

  it.each([
    ['that fails to synchronise, each tenth time', 'fsync', 'error=EIO:when=10+10', [409, 503]],
    ['that fails to write, each tenth time', 'pwrite64', 'error=EIO:when=10+10', [409, 503]],
    ['that is full, three times in a row', 'pwrite64', 'error=ENOSPC:when=100..300+3', [409, 503]],
    ['that becomes read-only', 'pwrite64', 'error=EROFS:when=500+', [409, 503]],
    ['that takes 5 ms to synchronise', 'fsync', 'delay_enter=5000', [409]],
  ])('%s, costs no acknowledged plant', async (_what, call, fault, errors) => {
    const variables = { ACCESS_TOKENS: TOKEN };
    // The log must exist, to be named.
    const first = new ServiceProcess(directory, variables);
    await first.listening();
    const path = join(directory, 'data/plants.db-wal');
    const strace = ['strace', '-f', '-qq', '-o', '/dev/null', '-P', path, '-e', `trace=${call}`];
    const service = new ServiceProcess(directory, variables, [...strace, '-e', `inject=${call}:${fault}`]);
    const url = await service.listening();
    await first.stop();

    const workload = new Workload(() => url, { token: TOKEN, clients: 32, seed: 4 });
    while (workload.history.length < OPERATIONS) await new Promise(setImmediate);
    await workload.stop();
    // Not the tracer: without it, the service would go on.
    const tracer = String(service.pid);
    process.kill(Number(readFileSync(`/proc/${tracer}/task/${tracer}/children`, 'utf8')), 'SIGKILL');
    await service.ended;

    const database = openSqliteFile(join(directory, 'data/plants.db'));
    const rows = database.all<Row>('SELECT id, name, tag FROM plants');
    database.close();
    const counts = { ok: 0, refused: 0, unknown: 0 };
    for (const { outcome } of workload.history) counts[outcome] += 1;
    console.info(workload.history.length, 'operations', counts, `${rows.length} plants stored`);
    expect(violationsIn(workload.history, new Map(rows.map((row) => [row.id, contentOf(row)])))).toEqual([]);
    expect([...workload.errors.keys()].sort()).toEqual(errors);
  });
});
