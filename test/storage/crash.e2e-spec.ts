import { TOKEN } from '../support/client.js';
import { storeFrom, violationsIn } from '../support/history.js';
import { report } from '../support/report.js';
import type { ServiceProcess } from '../support/service-process.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';
import { newStore, type Store } from '../support/store.js';
import { randomOf, Workload } from '../support/workload.js';

/** `npm run test:crash` sets it to 200, unless it is set already. */
const KILLS = Number(process.env.KILLS ?? 3);
/** The title of the suite shows the seed; set SEED to it to repeat a run. */
const SEED = Number(process.env.SEED ?? Date.now() % 100_000);

const CLIENTS = 64;

describe(`SIGKILL, ${KILLS} times, under ${CLIENTS} clients (SEED=${SEED})`, () => {
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

  it(
    'loses no acknowledged plant, stores no refused one, and does not keep the service from starting again',
    async () => {
      const started = performance.now();
      const random = randomOf(SEED);
      const launch = (): ServiceProcess => directory.launch({ ...WITH_TOKEN, DATABASE_URL: store.url });
      let service = launch();
      let url = service.listening();
      const workload = new Workload(() => url, { token: TOKEN, clients: CLIENTS, seed: SEED });
      const untilServed = (): Promise<void> =>
        Promise.race([
          // More than the requests that were in flight at the last kill, so the service has listened since then.
          workload.acknowledged(CLIENTS + 1),
          service.ended.then((status) => {
            throw new Error(`The service has ended by itself with ${String(status)}: ${service.lines.at(-1)}`);
          }),
        ]);
      for (let kills = 0; kills < KILLS; kills += 1) {
        await untilServed();
        // A random number of operations later, the service may be doing anything.
        await workload.operations(workload.history.length + 1 + Math.floor(random() * 2_000));
        service.signal('SIGKILL');
        const killed = service;
        service = launch();
        await killed.ended;
        url = service.listening();
      }
      await untilServed();
      await workload.stop();
      expect(await service.stop()).toBe(0);

      if (store.engine === 'sqlite') {
        expect(await store.query('PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
      }
      const rows = await store.rows();
      const { counts } = workload;
      const violations = violationsIn(workload.history, storeFrom(rows));
      report(
        `KILLS=${KILLS} SEED=${SEED}, ${store.engine}: ${workload.history.length} operations: ` +
          `${JSON.stringify(counts)}, ${rows.length} plants stored, ${violations.length} violations, ` +
          `${Math.round((performance.now() - started) / 1_000)} s`,
      );
      expect(violations).toEqual([]);
      // The kills must have cut requests off, or this run shows nothing.
      expect(counts.unknown).toBeGreaterThan(0);
      expect(counts.ok).toBeGreaterThan(KILLS);
    },
    180_000 + KILLS * 10_000,
  );
});
