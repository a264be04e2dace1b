import { createHash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { contentOf, storeFrom, violationsIn } from '../support/history.js';
import * as hostile from '../support/hostile-clients.js';
import { MemoryCurve, quantile } from '../support/memory-curve.js';
import { report } from '../support/report.js';
import { ServiceDirectory } from '../support/service-directory.js';
import type { ServiceProcess } from '../support/service-process.js';
import { newStore, type Row, type Store } from '../support/store.js';
import { Workload, WORKLOAD_IDS } from '../support/workload.js';

/** `npm run test:soak` sets it to 30. */
const MINUTES = Number(process.env.SOAK_MINUTES ?? 0.1);
/** The title of the suite shows the seed; set SEED to it to repeat the requests of the honest clients. */
const SEED = Number(process.env.SEED ?? Date.now() % 100_000);

const CLIENTS = 64;
const HONEST_TOKENS = ['honest-1', 'honest-2', 'honest-3', 'honest-4'];
const HOSTILE_TOKEN = 'hostile';

/** Milliseconds of a window, whose history is checked and forgotten: a history of all would not fit into memory. */
const WINDOW = Math.min(60_000, MINUTES * 30_000);
const WINDOWS = Math.round((MINUTES * 60_000) / WINDOW);

/** From this minute on, the memory of the service must be flat: caches and buffers have their sizes. */
const SETTLED = 5;
/** Growth since then, as a share of the median. */
const MAX_GROWTH = 0.1;
/** Bytes that the service may occupy at most. */
const MAX_RESIDENT = 320_000_000;
/** Milliseconds after which /metrics counts as not answering. */
const PATIENCE = 60_000;
/** Share of the honest requests of a window that may get error 503. */
const MAX_REFUSED = 0.05;

const PATTERNS = [
  hostile.tinyChunks,
  hostile.tinyChunksOfStrangers,
  hostile.unreadEchoes,
  hostile.unreadRefusals,
  hostile.refusalsReadSlowly,
  hostile.bodiesThatStop,
  hostile.bodiesThatDrip,
  hostile.silence(500),
  hostile.halfHeads(300),
  hostile.halfHandshakes(300),
  hostile.largeHeads(500),
  hostile.garbage,
];

/** All that is remembered of a window whose history was checked. */
interface CheckedWindow {
  readonly firstId: bigint;
  /** Ids without an acknowledgement, which may be stored later. */
  readonly uncertain: ReadonlySet<bigint>;
  readonly digest: string;
}

function rowsFrom(store: Store, firstId: bigint): Promise<Row[]> {
  const statement = 'SELECT id, name, tag FROM plants WHERE id >= ? AND id < ? ORDER BY id';
  return store.query<Row>(statement, firstId, firstId + WORKLOAD_IDS);
}

/** Returns a digest of all acknowledged plants. */
function digestOf(rows: readonly Row[], uncertain: ReadonlySet<bigint>): string {
  const hash = createHash('sha256');
  for (const row of rows) if (!uncertain.has(row.id)) hash.update(`${row.id} ${contentOf(row)}\n`);
  return hash.digest('hex');
}

/**
 * Adds a sample a second to the curve until it is told to stop; each must come, whatever the clients do.
 *
 * @returns the milliseconds that the slowest sample took
 */
async function watch(management: string, curve: MemoryCurve, signal: AbortSignal): Promise<number> {
  const started = performance.now();
  let slowest = 0;
  while (!signal.aborted) {
    const asked = performance.now();
    const response = await fetch(`${management}/metrics`, { signal: AbortSignal.timeout(PATIENCE) });
    const [, bytes] = /^process_resident_memory_bytes (\S+)$/m.exec(await response.text()) ?? [];
    slowest = Math.max(slowest, performance.now() - asked);
    curve.add(performance.now() - started, Number(bytes));
    await wait(1_000, undefined, { signal }).catch(() => undefined);
  }
  return slowest;
}

describe('The memory curve', () => {
  /** Returns the growth of 30 minutes from minute 5 on, with a peak in one of them. */
  function growthOf(megabytes: (minute: number) => number): number {
    const curve = new MemoryCurve();
    for (let minute = 0; minute < 30; minute += 1) {
      const peak = minute === 17 ? 300 : 0;
      curve.add(minute * 60_000, (megabytes(minute) + peak) * 1e6);
    }
    return curve.growthSince(SETTLED);
  }

  it.each<[string, (minute: number) => number]>([
    ['rises and falls', (minute) => 200 + 10 * (minute % 3)],
    ['rises in the first minutes', (minute) => 200 + 20 * Math.min(minute, 5)],
    ['falls', (minute) => 300 - 2 * minute],
  ])('is flat if it %s', (_what, megabytes) => {
    expect(growthOf(megabytes)).toBeLessThan(MAX_GROWTH);
  });

  it.each<[string, (minute: number) => number]>([
    ['by 1 MB a minute', (minute) => 200 + minute],
    ['by 1 MB a minute, with noise', (minute) => 200 + 10 * (minute % 3) + minute],
  ])('is not flat if it rises %s', (_what, megabytes) => {
    expect(growthOf(megabytes)).toBeGreaterThan(MAX_GROWTH);
  });
});

describe(`${CLIENTS} honest clients among hostile ones, for ${MINUTES} minutes (SEED=${SEED})`, () => {
  let directory: ServiceDirectory;
  let store: Store;

  beforeEach(async () => {
    directory = new ServiceDirectory();
    store = await newStore();
  });

  afterEach(async () => {
    await directory.remove();
    await store.close();
  });

  function launch(): ServiceProcess {
    return directory.launch({
      ACCESS_TOKENS: [...HONEST_TOKENS, HOSTILE_TOKEN].join(','),
      DATABASE_URL: store.url,
      MANAGEMENT_PORT: '0',
    });
  }

  it(
    'get only 200, 409 and a few 503, lose no plant, and the memory of the service is flat',
    async () => {
      let service = launch();
      let url = service.listening();
      const management = await service.managementListening();
      const curve = new MemoryCurve();
      const watching = new AbortController();
      const watched = watch(management, curve, watching.signal);
      // Awaited at the end, where a failure is reported.
      watched.catch(() => undefined);
      const windows: CheckedWindow[] = [];
      let worst = 0;
      let lost = 0;
      let slowest = NaN;
      let peak = NaN;

      for (let count = 0; count < WINDOWS; count += 1) {
        const firstId = BigInt(count) * WORKLOAD_IDS;
        const isLast = count === WINDOWS - 1;
        const target = { url: await url, token: HOSTILE_TOKEN, repeats: true };
        const attacks = PATTERNS.map((pattern) => pattern(target));
        const workload = new Workload(() => url, {
          token: HONEST_TOKENS,
          clients: CLIENTS,
          seed: SEED + count,
          firstId,
        });
        let unanswered: number;
        try {
          await wait(WINDOW);
          unanswered = workload.unanswered;
          if (isLast) {
            watching.abort();
            slowest = await watched;
            peak = service.peakResident() ?? curve.peak;
            service.signal('SIGKILL');
            service = launch();
            url = service.listening();
            await url;
          }
        } finally {
          await Promise.all(attacks.map((attack) => attack.stop()));
        }
        if (isLast) await workload.acknowledged(CLIENTS);
        await workload.stop();

        const { history, counts, errors, failures, durations } = workload;
        const rows = await rowsFrom(store, firstId);
        const [p50, p99] = [quantile(durations, 0.5), quantile(durations, 0.99)];
        report(
          `window ${count}: ${JSON.stringify(counts)}, errors ${JSON.stringify([...errors])}, ` +
            `unanswered ${unanswered} ${JSON.stringify([...failures])}, p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(0)} ms`,
        );
        expect(violationsIn(history, storeFrom(rows))).toEqual([]);
        expect([...errors.keys()].filter((error) => error !== 409 && error !== 503)).toEqual([]);
        lost += unanswered;
        worst = Math.max(worst, (errors.get(503) ?? 0) / history.length);
        const acknowledged = new Set(history.filter(({ outcome }) => outcome === 'ok').map(({ id }) => id));
        const uncertain = new Set(history.map(({ id }) => id).filter((id) => !acknowledged.has(id)));
        windows.push({ firstId, uncertain, digest: digestOf(rows, uncertain) });
        // The log has a line for each request.
        service.stdout = service.stdout.slice(-10_000);
      }

      for (const { firstId, uncertain, digest } of windows) {
        expect(digestOf(await rowsFrom(store, firstId), uncertain)).toBe(digest);
      }
      report(
        `${curve.table}\ngrowth ${(100 * curve.growthSince(SETTLED)).toFixed(1)} %, peak ${(peak / 1e6).toFixed(0)} MB, slowest /metrics ${slowest.toFixed(0)} ms`,
      );
      report(`503 in the worst window: ${(100 * worst).toFixed(2)} %`);
      expect(peak).toBeLessThan(MAX_RESIDENT);
      expect(curve.growthSince(SETTLED)).toBeLessThan(MAX_GROWTH);
      expect(worst).toBeLessThan(MAX_REFUSED);
      expect(lost).toBe(0);
    },
    180_000 + MINUTES * 120_000,
  );
});
