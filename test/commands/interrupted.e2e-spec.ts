import { existsSync, readdirSync } from 'node:fs';
import type { Run } from '../support/command.js';
import { ServiceDirectory, type Variables } from '../support/service-directory.js';
import { until } from '../support/until.js';

const OTHER: Variables = { DATABASE_URL: 'sqlite:other.db' };

const directory = ServiceDirectory.ofEachTest();

/** Starts a command, and sends it a signal when a condition holds. Returns its exit status. */
async function interrupt(
  [command = '', ...parameters]: readonly string[],
  variables: Variables | undefined,
  signal: NodeJS.Signals,
  hasBegun: () => boolean,
): Promise<number | null> {
  const running = directory.command(command, parameters, variables);
  await until(`${command} has begun`, hasBegun);
  return running.stop(signal);
}

function run([command = '', ...parameters]: readonly string[], variables?: Variables): Promise<Run> {
  return directory.run(command, parameters, variables);
}

describe.each<{ command: readonly string[]; signal: NodeJS.Signals; variables?: Variables; file: string }>([
  { command: ['export', 'plants.ndjson'], signal: 'SIGINT', file: 'plants.ndjson' },
  { command: ['backup', 'copy.db'], signal: 'SIGTERM', file: 'copy.db' },
  { command: ['restore', 'backup.db'], signal: 'SIGHUP', variables: OTHER, file: 'other.db' },
])('plant-store $command.0', ({ command, signal, variables, file }) => {
  let before: string[];

  beforeEach(async () => {
    await directory.store([]);
    directory.fill(200_000);
    await run(['backup', 'backup.db']);
    before = readdirSync(directory.path);
  });

  const hasDraft = (): boolean => readdirSync(directory.path).length > before.length;

  it(`leaves no file when ${signal} interrupts it`, async () => {
    expect(await interrupt(command, variables, signal, hasDraft)).toBe(130);
    expect(readdirSync(directory.path)).toEqual(before);
  });

  it('leaves no part of its file when SIGKILL ends it, and can run again', async () => {
    expect(await interrupt(command, variables, 'SIGKILL', hasDraft)).toBeNull();
    expect(existsSync(directory.file(file))).toBe(false);

    const { status, stdout } = await run([...command, '--json'], variables);
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ file, plants: 200_000 });
  });
});

describe('plant-store import', () => {
  it('goes on after it was interrupted or killed', async () => {
    await directory.store([]);
    directory.fill(100_000);
    await run(['export', 'plants.ndjson']);
    const command = ['import', 'plants.ndjson'];
    const hasStore = (): boolean => existsSync(directory.file('other.db-wal'));

    expect(await interrupt(command, OTHER, 'SIGINT', hasStore)).toBe(130);
    expect(await interrupt(command, OTHER, 'SIGKILL', hasStore)).toBeNull();

    expect(await run(command, OTHER)).toMatchObject({ status: 0 });
    expect(await run(['verify'], OTHER)).toEqual(await run(['verify']));
  });
});
