import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { storeFrom, violationsIn } from '../support/history.js';
import { TOKEN } from '../support/client.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';
import { Workload } from '../support/workload.js';

/** Greater than the ids of the plants that a test inserts beside the service. */
const FIRST_ID = 10_000_000n;

const directory = ServiceDirectory.ofEachTest();

function workload(url: string, seed: number): Workload {
  return new Workload(() => url, { token: TOKEN, clients: 16, seed, firstId: FIRST_ID });
}

describe('plant-store backup', () => {
  it('copies all acknowledged plants while clients create more, and a service runs on the copy', async () => {
    const { service, url } = await directory.start();
    directory.fill(200_000);
    const first = workload(url, 6);
    await first.operations(500);

    const before = first.history.length;
    const backup = await directory.run('backup', ['backup.db']);
    const after = first.history.length;
    await first.stop();
    await service.stop();

    const copy = directory.rows('backup.db');
    expect(backup).toEqual({ status: 0, stdout: '', stderr: `backup.db is a backup of ${copy.length} plants\n` });
    expect(after).toBeGreaterThan(before);
    expect(readdirSync(directory.path).sort()).toEqual(['backup.db', 'data']);
    expect(copy.filter(({ id }) => id < FIRST_ID)).toHaveLength(200_000);

    const restored = await directory.start({ ...WITH_TOKEN, DATABASE_URL: 'sqlite:backup.db' });
    const second = workload(restored.url, 7);
    await second.operations(500);
    await second.stop();

    // Plants that were acknowledged during the backup may be in it or not.
    const history = first.history.map((operation, index) =>
      index < before || operation.outcome === 'refused' ? operation : { ...operation, outcome: 'unknown' as const },
    );
    const store = storeFrom(directory.rows('backup.db').filter(({ id }) => id >= FIRST_ID));
    expect(violationsIn([...history, ...second.history], store)).toEqual([]);
  });

  it('refuses a damaged database, and leaves no file', async () => {
    await directory.store([]);
    directory.fill(10_000);
    const file = directory.file('data/plants.db');
    const bytes = readFileSync(file);
    writeFileSync(file, bytes.fill(0xaa, bytes.length / 2, bytes.length / 2 + 4_096));

    const { status, stderr } = await directory.run('backup', ['backup.db']);

    expect(stderr).toMatch(/^plant-store: the database data\/plants\.db is damaged: [^\n]+\n$/);
    expect(status).toBe(1);
    expect(readdirSync(directory.path)).toEqual(['data']);
  });
});
