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

/** Numbers of services that share a store. On PostgreSQL, database-server.postgres-spec.ts has two. */
const COUNTS = Reflect.get(globalThis, 'ENGINE') === 'postgres' ? [1] : [1, 2];

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

  it.each(COUNTS)(
    'of one of %i services loses no acknowledged plant, stores no refused one, and lets the service start again',
    async (count) => {
      const began = performance.now();
      const random = randomOf(SEED);
      /** The services that listen, the oldest first, with their URLs. */
      const listening = new Map<ServiceProcess, string>();
      const start = async (): Promise<string> => {
        const service = directory.launch({ ...WITH_TOKEN, DATABASE_URL: store.url });
        const url = await service.listening();
        listening.set(service, url);
        return url;
      };
      let starting = start();
      let turn = 0;
      const target = (): string | Promise<string> => [...listening.values()][(turn += 1) % listening.size] ?? starting;
      const workload = new Workload(target, { token: TOKEN, clients: CLIENTS, seed: SEED });
      await starting;
      while (listening.size < count) await start();
      for (let kills = 0; kills < KILLS; kills += 1) {
        // A random number of operations later, the services may be doing anything.
        await workload.operations(workload.history.length + 1 + Math.floor(random() * 1_000));
        const [killed] = listening.keys();
        if (killed === undefined) throw new Error('No service listens.');
        listening.delete(killed);
        killed.signal('SIGKILL');
        starting = start();
        await killed.ended;
        await starting;
        // More than the requests that were in flight at the kill.
        await workload.acknowledged(CLIENTS + 1);
      }
      await workload.stop();
      for (const service of listening.keys()) expect(await service.stop()).toBe(0);

      if (store.engine === 'sqlite') {
        expect(await store.query('PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
      }
      const rows = await store.rows();
      const { counts } = workload;
      const violations = violationsIn(workload.history, storeFrom(rows));
      report(
        `KILLS=${KILLS} SEED=${SEED}, ${store.engine}, services: ${count}: ${workload.history.length} operations: ` +
          `${JSON.stringify(counts)}, ${rows.length} plants stored, ${violations.length} violations, ` +
          `${Math.round((performance.now() - began) / 1_000)} s`,
      );
      expect(violations).toEqual([]);
      // The kills must have cut requests off, or this run shows nothing.
      expect(counts.unknown).toBeGreaterThan(0);
      expect(counts.ok).toBeGreaterThan(KILLS);
    },
    180_000 + KILLS * 10_000,
  );
});
