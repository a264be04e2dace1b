import { TOKEN } from './client.js';
import { storeFrom, violationsIn } from './history.js';
import type { PostgresServer } from './postgres.js';
import { report } from './report.js';
import { Workload } from './workload.js';

/** Returns the name of the database in a URL. */
export function nameOf(database: string): string {
  return new URL(database).pathname.slice(1);
}

/** Runs clients that use these services in turn while the faults happen, and for 200 creates before and after. */
export async function runFaults(
  what: string,
  urls: readonly string[],
  faults: (workload: Workload) => Promise<void>,
): Promise<Workload> {
  let turn = 0;
  const workload = new Workload(() => urls[(turn += 1) % urls.length] ?? '', { token: TOKEN, clients: 32, seed: 4 });
  try {
    await workload.acknowledged(200);
    await faults(workload);
    await workload.acknowledged(200);
  } finally {
    await workload.stop();
  }
  report(`${what}: ${JSON.stringify(workload.counts)}`);
  return workload;
}

/** Expects that the service broke no promise, and refused plants with these errors alone. */
export async function expectKeptPromises(
  { history, errors }: Workload,
  server: PostgresServer,
  database: string,
  allowed: readonly number[] = [409, 503],
): Promise<void> {
  const rows = await server.query<{ id: string; name: string; tag: string | null }>(
    'SELECT id, name, tag FROM plants',
    nameOf(database),
  );
  expect(violationsIn(history, storeFrom(rows.map((row) => ({ ...row, id: BigInt(row.id) }))))).toEqual([]);
  expect([...errors.keys()].filter((error) => !allowed.includes(error))).toEqual([]);
}
