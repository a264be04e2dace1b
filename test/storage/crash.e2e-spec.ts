import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { contentOf, violationsIn } from '../support/history.js';
import { TOKEN, type Row } from '../support/service.js';
import { ServiceProcess } from '../support/service-process.js';
import { openSqliteFile } from '../support/sqlite-file.js';
import { randomOf, Workload } from '../support/workload.js';

/** `npm run test:crash` sets the first to 200; the seed of a run is printed, to repeat it with. */
const KILLS = Number(process.env.KILLS ?? 10);
const SEED = Number(process.env.SEED ?? Date.now() % 100_000);

const CLIENTS = 64;

describe(`kill -9, ${KILLS} times, under ${CLIENTS} clients (SEED=${SEED})`, () => {
  let directory: string;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
  });

  afterEach(() => rmSync(directory, { recursive: true }));

  it(
    'loses no acknowledged plant, keeps no refused one, and starts again at once',
    async () => {
      const random = randomOf(SEED);
      const launch = (): ServiceProcess => new ServiceProcess(directory, { ACCESS_TOKENS: TOKEN });
      let service = launch();
      let url = service.listening();
      const workload = new Workload(() => url, { token: TOKEN, clients: CLIENTS, seed: SEED });
      let kills = 0;
      for (; kills < KILLS; kills += 1) {
        await url;
        // So many operations later, in the middle of whatever the service is doing then.
        const operations = workload.history.length + 1 + Math.floor(random() * 2_000);
        while (workload.history.length < operations) await new Promise(setImmediate);
        service.signal('SIGKILL');
        const killed = service;
        service = launch();
        url = service.listening();
        await killed.ended;
      }
      await workload.stop();
      expect(await service.stop()).toBe(0);

      const database = openSqliteFile(join(directory, 'data/plants.db'));
      const rows = database.all<Row>('SELECT id, name, tag FROM plants');
      expect(database.all('PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
      database.close();
      const counts = { ok: 0, refused: 0, unknown: 0 };
      for (const { outcome } of workload.history) counts[outcome] += 1;
      console.info(`${kills} kills, ${workload.history.length} operations`, counts, `${rows.length} plants stored`);
      expect(violationsIn(workload.history, new Map(rows.map((row) => [row.id, contentOf(row)])))).toEqual([]);
      // Of what each kill cut off, clients know nothing; that must be what happened here.
      expect(counts.unknown).toBeGreaterThan(0);
      expect(counts.ok).toBeGreaterThan(KILLS);
    },
    30_000 + KILLS * 10_000,
  );
});
