import { readdirSync, readFileSync } from 'node:fs';
import type { Run } from '../support/command.js';
import { importing } from '../support/node-process.js';
import { ServiceDirectory, type Variables } from '../support/service-directory.js';
import { inTime } from '../support/until.js';

const OTHER: Variables = { DATABASE_URL: 'sqlite:other.db' };

const directory = ServiceDirectory.ofEachTest();

/** Lets a command print a line and wait before it gives its file its name, when it asks that the draft be on disk. */
const HELD = importing(
  "import { promises } from 'node:fs'; import { syncBuiltinESMExports } from 'node:module'; const { open } = promises;" +
    "promises.open = async (path, flags) => { if (flags !== 'r+') return open(path, flags);" +
    "console.error('held'); return new Promise(() => setInterval(() => undefined, 1_000)); }; syncBuiltinESMExports();",
);

/** Starts an export, and sends it a signal before it gives its file its name. Returns its exit status. */
async function interruptExport(signal: NodeJS.Signals): Promise<number | null> {
  const running = directory.command('export', ['plants.ndjson'], HELD);
  await running.printed(/^(held)$/m);
  expect(readdirSync(directory.path)).toHaveLength(2);
  return running.stop(signal);
}

/**
 * Starts an import of these lines, of which no end comes, and sends it a signal once it has read almost all of them.
 */
async function interruptImport(lines: string, signal: NodeJS.Signals): Promise<number | null> {
  const running = directory.command('import', [], OTHER);
  const read = new Promise((resolve) => running.child.stdin.write(lines, resolve));
  await inTime(read, () => `the import has read its lines, which has printed ${running.stderr}`);
  return running.stop(signal);
}

function run([command = '', ...parameters]: readonly string[], variables?: Variables): Promise<Run> {
  return directory.run(command, parameters, variables);
}

describe('plant-store export', () => {
  beforeEach(async () => {
    await directory.store([]);
    directory.fill(2_000);
  });

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('leaves no file when %s interrupts it', async (signal) => {
    expect(await interruptExport(signal)).toBe(130);
    expect(readdirSync(directory.path)).toEqual(['data']);
  });

  it('leaves an unfinished file beside its file when SIGKILL ends it, and can run again', async () => {
    expect(await interruptExport('SIGKILL')).toBeNull();
    expect(readdirSync(directory.path)).toEqual(['data', expect.stringMatching(/^plants\.ndjson\.[\w-]{36}$/)]);

    const { status, stdout } = await run(['export', 'plants.ndjson', '--json']);
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ file: 'plants.ndjson', plants: 2_000 });
  });
});

describe('plant-store import', () => {
  it('goes on after it was interrupted or killed', async () => {
    await directory.store([]);
    directory.fill(50_000);
    await run(['export', 'plants.ndjson']);
    const lines = readFileSync(directory.file('plants.ndjson'), 'utf8').split(/^/m);

    expect(await interruptImport(lines.slice(0, 15_000).join(''), 'SIGINT')).toBe(130);
    const interrupted = directory.rows('other.db').length;
    expect(interrupted).toBeGreaterThan(0);
    expect(await interruptImport(lines.slice(0, 30_000).join(''), 'SIGKILL')).toBeNull();
    const killed = directory.rows('other.db').length;
    expect(killed).toBeGreaterThan(interrupted);

    expect(await run(['import', 'plants.ndjson'], OTHER)).toMatchObject({ status: 0 });
    expect(await run(['verify'], OTHER)).toEqual(await run(['verify']));
  });

  it('can be interrupted while it waits for the store', async () => {
    const running = directory.command('import', [], { DATABASE_URL: 'postgres://u@127.0.0.1:1/plants' });
    await running.printed(/^(Waiting for the database): /m);

    expect(await running.stop('SIGINT')).toBe(130);
  });
});
