import { setTimeout as wait } from 'node:timers/promises';
import { storeFrom, violationsIn } from '../support/history.js';
import { TOKEN } from '../support/client.js';
import { report } from '../support/report.js';
import { ServiceDirectory } from '../support/service-directory.js';
import { residentOf, type ServiceProcess } from '../support/service-process.js';
import { newStore, type Row, type Store } from '../support/store.js';
import { Workload, WORKLOAD_IDS } from '../support/workload.js';

/** `npm run test:soak` sets it to 30. */
const MINUTES = Number(process.env.SOAK_MINUTES ?? 0.1);
/** The title of the suite shows the seed; set SEED to it to repeat the requests of the honest clients. */
const SEED = Number(process.env.SEED ?? Date.now() % 100_000);

const CLIENTS = 64;

/** Milliseconds of a window, whose history is checked and forgotten: a history of all would not fit into memory. */
const WINDOW = Math.min(60_000, MINUTES * 30_000);
const WINDOWS = Math.round((MINUTES * 60_000) / WINDOW);

/** Seconds after which the memory of the service must be flat: caches and buffers have their sizes. */
const SETTLED = 300;
/** Seconds of a flat curve from which a growth can be told from the noise. */
const ENOUGH = 600;
/** True if the run is long enough to tell a flat curve from one that grows. */
const SHOWS_GROWTH = MINUTES * 60 >= SETTLED + ENOUGH;
/** Growth from the first half of that time to the second, as a share. */
const MAX_GROWTH = 0.05;

/** Adds the resident set to the samples once a second; each sample must come, whatever the clients do. */
async function watch(management: string, samples: number[], signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    samples.push(await residentOf(management));
    await wait(1_000, undefined, { signal }).catch(() => undefined);
  }
}

/** Returns by how much the second half of the settled samples is above the first. */
function growthOf(samples: readonly number[]): number {
  const settled = samples.slice(SETTLED);
  const middle = Math.floor(settled.length / 2);
  return median(settled.slice(middle)) / median(settled.slice(0, middle)) - 1;
}

/** Single peaks do not change it. */
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

  function launch(): ServiceProcess {
    return directory.launch({
      ACCESS_TOKENS: TOKEN,
      DATABASE_URL: store.url,
      MANAGEMENT_PORT: '0',
    });
  }

  /** Returns the plants of a window. */
  function rowsFrom(firstId: bigint): Promise<Row[]> {
    const statement = 'SELECT id, name, tag FROM plants WHERE id >= ? AND id < ? ORDER BY id';
    return store.query<Row>(statement, firstId, firstId + WORKLOAD_IDS);
  }

  it(
    `get only 200 and 409, and lose no plant${SHOWS_GROWTH ? ', and the memory does not grow' : ''}`,
    async () => {
      let service = launch();
      let url = service.listening();
      const samples: number[] = [];
      const watching = new AbortController();
      const watched = watch(await service.managementListening(), samples, watching.signal);
      // Awaited at the end, where a failure is reported.
      watched.catch(() => undefined);
      const stored = new Map<bigint, number>();
      let peak = NaN;

      for (let count = 0; count < WINDOWS; count += 1) {
        const firstId = BigInt(count) * WORKLOAD_IDS;
        const isLast = count === WINDOWS - 1;
        const workload = new Workload(() => url, {
          token: TOKEN,
          clients: CLIENTS,
          seed: SEED + count,
          firstId,
        });
        await wait(WINDOW);
        expect(workload.unanswered).toBe(0);
        if (isLast) {
          watching.abort();
          await watched;
          peak = service.peakResident();
          service.signal('SIGKILL');
          service = launch();
          url = service.listening();
          await url;
        }
        if (isLast) await workload.acknowledged(CLIENTS);
        await workload.stop();

        const { history, counts, errors } = workload;
        report(
          `window ${count}: ${JSON.stringify(counts)}, errors ${JSON.stringify([...errors])}, ` +
            `median ${Math.round(median(samples.slice(-WINDOW / 1_000)) / 1e6)} MB`,
        );
        const rows = await rowsFrom(firstId);
        expect(violationsIn(history, storeFrom(rows))).toEqual([]);
        expect([...errors.keys()].filter((error) => error !== 409)).toEqual([]);
        stored.set(firstId, rows.length);
        // The log has a line for each request.
        service.stdout = service.stdout.slice(-10_000);
      }

      // Requests without an answer may be stored later.
      for (const [firstId, least] of stored) {
        expect((await rowsFrom(firstId)).length).toBeGreaterThanOrEqual(least);
      }
      report(`peak ${Math.round(peak / 1e6)} MB`);
      if (SHOWS_GROWTH) {
        report(`growth ${(100 * growthOf(samples)).toFixed(1)} %`);
        expect(growthOf(samples)).toBeLessThan(MAX_GROWTH);
      }
    },
    180_000 + MINUTES * 120_000,
  );
});
