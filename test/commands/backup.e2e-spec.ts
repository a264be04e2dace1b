import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { storeFrom, violationsIn } from '../support/history.js';
import { TOKEN } from '../support/client.js';
import { ServiceDirectory } from '../support/service-directory.js';
import { Workload } from '../support/workload.js';

/** Greater than the ids of the plants that the test inserts beside the service. */
const FIRST_ID = 10_000_000n;

const directory = ServiceDirectory.ofEachTest();

describe('plant-store backup', () => {
  it('copies all acknowledged plants while clients create more', async () => {
    const { url } = await directory.start();
    directory.fill(50_000);
    const workload = new Workload(() => url, { token: TOKEN, clients: 16, seed: 6, firstId: FIRST_ID });
    await workload.operations(500);

    const before = workload.history.length;
    const backup = await directory.run('backup', ['backup.db']);
    expect(workload.history.length).toBeGreaterThan(before);
    await workload.stop();

    const copy = directory.rows('backup.db');
    expect(backup).toEqual({ status: 0, stdout: '', stderr: `backup.db is a backup of ${copy.length} plants\n` });
    expect(readdirSync(directory.path).sort()).toEqual(['backup.db', 'data']);
    expect(copy.filter(({ id }) => id < FIRST_ID)).toHaveLength(50_000);
    // Plants that were acknowledged during the backup may be in it or not.
    const history = workload.history.map((operation, index) =>
      index < before || operation.outcome === 'refused' ? operation : { ...operation, outcome: 'unknown' as const },
    );
    expect(violationsIn(history, storeFrom(copy.filter(({ id }) => id >= FIRST_ID)))).toEqual([]);
  });

  it.each(['backup backup.db', 'export plants.csv', 'verify', 'check'])(
    'and %s refuse a damaged database with one line, and leave no file',
    async (command) => {
      await directory.store([]);
      directory.fill(10_000);
      const file = directory.file('data/plants.db');
      const bytes = readFileSync(file);
      writeFileSync(file, bytes.fill(0xaa, bytes.length / 2, bytes.length / 2 + 4_096));
      const [name = '', ...parameters] = command.split(' ');

      const { status, stderr } = await directory.run(name, parameters);

      expect(stderr).toMatch(/^plant-store: the database [^\n]*(?:malformed|damaged)[^\n]*\n$/);
      expect(status).toBe(1);
      expect(readdirSync(directory.path)).toEqual(['data']);
    },
  );
});
