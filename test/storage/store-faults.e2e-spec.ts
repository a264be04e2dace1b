import { mkdirSync, mkdtempSync, renameSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CREATED, create, UNAVAILABLE } from '../support/creation.js';
import { contentOf, type Store, violationsIn } from '../support/history.js';
import { type Row, TOKEN } from '../support/service.js';
import { ServiceProcess } from '../support/service-process.js';
import { openSqliteFile, type SqliteFile } from '../support/sqlite-file.js';
import { Workload } from '../support/workload.js';

const WITH_TOKEN = { ACCESS_TOKENS: TOKEN };

let directory: string;
let processes: ServiceProcess[];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'plant-store-'));
  processes = [];
});

afterEach(async () => {
  await Promise.all(processes.map((service) => service.stop('SIGKILL')));
  rmSync(directory, { recursive: true });
});

function launch(variables: Record<string, string> = {}, wrapper?: readonly string[]): ServiceProcess {
  const service = new ServiceProcess(directory, { ...WITH_TOKEN, ...variables }, wrapper);
  processes.push(service);
  return service;
}

function openDatabase(): SqliteFile {
  return openSqliteFile(join(directory, 'data/plants.db'));
}

function stored(): Store {
  const database = openDatabase();
  try {
    const rows = database.all<Row>('SELECT id, name, tag FROM plants');
    return new Map(rows.map((row) => [row.id, contentOf(row)]));
  } finally {
    database.close();
  }
}

function ids(): number[] {
  return [...stored().keys()].map(Number).sort((a, b) => a - b);
}

describe('a disk without room', () => {
  /** No file may grow beyond 512 KiB: less than the write-ahead log takes until its first checkpoint. */
  const LIMITED = ['sh', '-c', 'ulimit -f 1024; exec "$@"', 'sh'];

  it('is told with 503 and nothing stored, and creates succeed again when there is room', async () => {
    const service = launch({}, LIMITED);
    const url = await service.listening();
    const name = 'n'.repeat(10_000);
    let id = 0;
    let answer = CREATED;
    while (answer.status === 200) {
      id += 1;
      answer = await create(url, id, name);
    }

    expect(answer).toEqual(UNAVAILABLE);
    expect(id).toBeGreaterThan(10);
    expect(await create(url, id, name)).toEqual(UNAVAILABLE);
    expect(ids()).toEqual(Array.from({ length: id - 1 }, (_, index) => index + 1));

    const database = openDatabase();
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    database.close();
    expect(await create(url, id, name)).toEqual(CREATED);
    expect(ids()).toContain(id);
    expect(await service.stop()).toBe(0);
  });

  it('costs none of the plants that 16 clients create meanwhile', async () => {
    const service = launch({}, LIMITED);
    const url = await service.listening();
    const workload = new Workload(() => url, { token: TOKEN, clients: 16, seed: 1 });
    while ((workload.errors.get(503) ?? 0) < 100) await new Promise(setImmediate);
    await workload.stop();
    await service.stop('SIGKILL');

    expect(violationsIn(workload.history, stored())).toEqual([]);
    expect([...workload.errors.keys()].sort()).toEqual([409, 503]);
  });
});

describe('a directory that is gone', () => {
  it('is told with 503, and creates succeed again when it is back', async () => {
    const service = launch();
    const url = await service.listening();
    expect(await create(url, 1)).toEqual(CREATED);

    renameSync(join(directory, 'data'), join(directory, 'elsewhere'));
    expect(await create(url, 2)).toEqual(UNAVAILABLE);
    renameSync(join(directory, 'elsewhere'), join(directory, 'data'));

    expect(await create(url, 3)).toEqual(CREATED);
    expect(await service.stop()).toBe(0);
  });

  it('is told with 503 for good when it was removed, and another one in its place is no comfort', async () => {
    const service = launch();
    const url = await service.listening();
    rmSync(join(directory, 'data'), { recursive: true });
    expect(await create(url, 1)).toEqual(UNAVAILABLE);

    mkdirSync(join(directory, 'data'));
    openDatabase().close();
    expect(await create(url, 1)).toEqual(UNAVAILABLE);
    expect(await service.stop()).toBe(0);
  });
});

describe.each(['', '-wal', '-shm'])('a removed file, plants.db%s,', (suffix) => {
  it('is told with 503, before anything is written that another process would not see', async () => {
    const first = await launch().listening();
    expect(await create(first, 1)).toEqual(CREATED);
    rmSync(join(directory, `data/plants.db${suffix}`));

    expect(await create(first, 2)).toEqual(UNAVAILABLE);
    expect(await create(first, 1)).toEqual(UNAVAILABLE);
  });
});

describe('two processes on one file', () => {
  it('tell everybody the truth, whatever they contend for', async () => {
    const urls = [await launch().listening(), await launch().listening()];
    let turn = 0;
    const workload = new Workload(() => urls[(turn += 1) % 2] ?? '', { token: TOKEN, clients: 32, seed: 2 });
    while (workload.history.length < 3_000) await new Promise(setImmediate);
    await workload.stop();

    expect(violationsIn(workload.history, stored())).toEqual([]);
    expect([...workload.errors.keys()]).toEqual([409]);
    expect(await Promise.all(processes.map((service) => service.stop()))).toEqual([0, 0]);
  });

  it('come up together on an empty directory', async () => {
    const urls = await Promise.all([launch(), launch(), launch(), launch()].map((service) => service.listening()));

    expect(await Promise.all(urls.map((url) => create(url, 1)))).toEqual([CREATED, CREATED, CREATED, CREATED]);
    expect(ids()).toEqual([1]);
  });

  it('wait for each other, and answer others meanwhile', async () => {
    const url = await launch().listening();
    const other = openDatabase();
    other.exec('BEGIN EXCLUSIVE');

    const waiting = create(url, 1);
    const stranger = await fetch(`${url}/plants`, { method: 'POST' });
    expect(await stranger.json()).toMatchObject({ error: 401 });
    other.close();

    expect(await waiting).toEqual(CREATED);
  });

  it('give up after five seconds, with 503 and nothing stored', async () => {
    const url = await launch().listening();
    const other = openDatabase();
    other.exec('BEGIN EXCLUSIVE');

    expect(await create(url, 1)).toEqual(UNAVAILABLE);
    other.close();

    expect(ids()).toEqual([]);
    expect(await create(url, 1)).toEqual(CREATED);
  });
});

describe('a start', () => {
  async function expectRefusal(complaint: string): Promise<void> {
    const service = launch();
    expect(await service.ended).toBe(1);
    expect(service.stderr).toBe(`plant-store: the database data/plants.db ${complaint}\n`);
    expect(service.stdout).toBe('');
  }

  async function fill(): Promise<void> {
    const service = launch();
    const url = await service.listening();
    for (let id = 1; id <= 100; id += 1) await create(url, id, 'n'.repeat(1_000));
    await service.stop();
  }

  it('is refused where the database is damaged', async () => {
    await fill();
    truncateSync(join(directory, 'data/plants.db'), 8_192);

    await expectRefusal('is not a SQLite database, or is damaged; restore a backup or name another file');
  });

  it('is refused where another process keeps the database locked', async () => {
    await fill();
    const other = openDatabase();
    other.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');

    await expectRefusal('is locked by another process; stop it first');
    other.close();
  });
});
