/**
 * Clients that create plants for a long time get only 200 and 409, lose no plant, and do not make the memory grow. It
 * takes six seconds with the other tests, and 30 minutes by `npm run test:soak`.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { storeFrom, violationsIn } from '../support/history.js';
import { TOKEN } from '../support/client.js';
import { report } from '../support/report.js';
import { ServiceDirectory } from '../support/service-directory.js';
import { newStore, type Row, type Store } from '../support/store.js';
import { Workload, WORKLOAD_IDS } from '../support/workload.js';

const MINUTES = Number(process.env.SOAK_MINUTES ?? 0.1);
/** The title of the suite shows the seed; set SEED to it to repeat the requests. */
const SEED = Number(process.env.SEED ?? Date.now() % 100_000);

const CLIENTS = 64;

/** Milliseconds of a window, whose history is checked and forgotten: a history of all would not fit into memory. */
const WINDOW = Math.min(60_000, MINUTES * 30_000);
const WINDOWS = Math.round((MINUTES * 60_000) / WINDOW);

/** Windows after which the memory must be flat, because caches and buffers have their sizes. */
const SETTLED = 5;
/** The growth of the memory from the first half of the settled windows to the second, as a share. */
const MAX_GROWTH = 0.05;
/** True if there are enough settled windows to tell a growth from the noise. */
const SHOWS_GROWTH = WINDOWS >= SETTLED + 10;

/** Returns the resident set that the management listener at this URL shows, in bytes. */
async function residentOf(management: string): Promise<number> {
  // A connection that the listener has closed as idle meanwhile would fail.
  const response = await fetch(`${management}/metrics`, { headers: { Connection: 'close' } });
  return Number(/^process_resident_memory_bytes (\S+)$/m.exec(await response.text())?.[1]);
}

function median(values: readonly number[]): number {
  return [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)] ?? NaN;
}

describe(`${CLIENTS} clients, for ${MINUTES} minutes (SEED=${SEED})`, () => {
  const directory = ServiceDirectory.ofEachTest();
  let store: Store;

  beforeEach(async () => {
    store = await newStore();
  });

  afterEach(() => store.close());

  it(
    'get only 200 and 409, lose no plant, and do not make the memory grow',
    async () => {
      const variables = { ACCESS_TOKENS: TOKEN, DATABASE_URL: store.url };
      const { service, url, management } = await directory.startManaged(variables);
      const resident: number[] = [];

      for (let count = 0; count < WINDOWS; count += 1) {
        const firstId = BigInt(count) * WORKLOAD_IDS;
        const workload = new Workload(() => url, { token: TOKEN, clients: CLIENTS, seed: SEED + count, firstId });
        await wait(WINDOW);
        resident.push(await residentOf(management));
        await workload.stop();

        const { history, counts, errors, unanswered } = workload;
        report(`window ${count}: ${JSON.stringify(counts)}, ${Math.round((resident.at(-1) ?? NaN) / 1e6)} MB`);
        const statement = 'SELECT id, name, tag FROM plants WHERE id >= ? AND id < ? ORDER BY id';
        const rows = await store.query<Row>(statement, firstId, firstId + WORKLOAD_IDS);
        expect(violationsIn(history, storeFrom(rows))).toEqual([]);
        expect(unanswered).toBe(0);
        expect([...errors.keys()].filter((error) => error !== 409)).toEqual([]);
        // The log has a line for each request.
        service.stdout = service.stdout.slice(-10_000);
      }

      if (SHOWS_GROWTH) {
        const settled = resident.slice(SETTLED);
        const middle = Math.floor(settled.length / 2);
        const growth = median(settled.slice(middle)) / median(settled.slice(0, middle)) - 1;
        report(`growth ${(100 * growth).toFixed(1)} %`);
        expect(growth).toBeLessThan(MAX_GROWTH);
      }
    },
    180_000 + MINUTES * 120_000,
  );
});
