import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { encodePlants } from '../../src/commands/data/formats.js';
import type { StoredPlant } from '../../src/storage/plant-repository.js';
import { type Run, runCommand } from '../support/command.js';
import { ServiceDirectory, type Variables } from '../support/service-directory.js';

/** Bytes of a block of `ulimit -f`. */
const BLOCK = 512;

/** Many plants, whose NDJSON does not end at the end of a block. */
const PLANTS = plantsUntil((bytes, count) => count >= 20_000 && bytes % BLOCK === BLOCK / 2);
const NDJSON = encodePlants(PLANTS, 'ndjson');

const directory = ServiceDirectory.ofEachTest();

beforeEach(() => {
  writeFileSync(directory.file('plants.ndjson'), NDJSON);
});

/** Returns plants with ascending ids, until `isEnough` returns true. */
function plantsUntil(isEnough: (bytes: number, count: number) => boolean): StoredPlant[] {
  const plants: StoredPlant[] = [];
  for (let bytes = 0; !isEnough(bytes, plants.length);) {
    const count = plants.length;
    const plant = { id: BigInt(count) * 7n, name: `plant ${count}`, tag: 'x'.repeat(count % 30) };
    plants.push(plant);
    bytes += encodePlants([plant], 'ndjson').length;
  }
  return plants;
}

function run(command: string, parameters: readonly string[], variables?: Variables, wrapper?: string[]): Promise<Run> {
  return runCommand(command, directory.path, parameters, variables, '', wrapper);
}

/** Lets no file grow beyond this number of bytes, rounded down to a block. */
function fullAt(bytes: number, script = 'exec "$@"'): string[] {
  return ['sh', '-c', `ulimit -f ${Math.floor(bytes / BLOCK)}; ${script}`, 'sh'];
}

/** Returns the line that a command ends with on a full disk. */
function failure(complaint: RegExp): unknown {
  return { status: 1, stdout: '', stderr: expect.stringMatching(complaint) as unknown };
}

describe('On a full disk', () => {
  // SQLite needs 32 KiB to read. The last one has no room for the second half of the last block.
  it.each([
    ['the first', 65_536],
    ['the last', NDJSON.length],
  ])('an export that has no room for %s bytes leaves no file, and is complete when there is room', async (_, room) => {
    await run('import', ['plants.ndjson']);

    expect(await run('export', ['copy.ndjson'], {}, fullAt(room))).toEqual(
      failure(/^plant-store: copy\.ndjson cannot be written: EFBIG[^\n]+\n$/),
    );
    expect(readdirSync(directory.path).sort()).toEqual(['data', 'plants.ndjson']);
    expect(await run('export', ['-'], {}, fullAt(room, 'exec "$@" > stdout'))).toEqual(
      failure(/^plant-store: stdout cannot be written: EFBIG[^\n]+\n$/),
    );

    expect(await run('export', ['copy.ndjson'])).toMatchObject({ status: 0 });
    expect(readFileSync(directory.file('copy.ndjson'), 'utf8')).toBe(NDJSON);
  });

  it('a backup leaves no file, and is complete when there is room', async () => {
    await run('import', ['plants.ndjson']);

    expect(await run('backup', ['backup.db'], {}, fullAt(NDJSON.length / 3))).toEqual(
      failure(/^plant-store: nothing was copied, because backup\.db could not be written [^\n]+\n$/),
    );
    expect(readdirSync(directory.path).sort()).toEqual(['data', 'plants.ndjson']);

    expect(await run('backup', ['backup.db'])).toMatchObject({ status: 0 });
  });

  it('an import says how to go on, and then has the same result', async () => {
    expect(await run('import', ['plants.ndjson'], {}, fullAt(NDJSON.length / 3))).toEqual(
      failure(
        /^\d+ created, 0 repeated, 0 conflicts, 0 rejected\nplant-store: [^\n]+; run the same command again: [^\n]+\n$/,
      ),
    );
    const stored = directory.rows().length;
    expect(stored).toBeGreaterThan(0);
    expect(stored).toBeLessThan(PLANTS.length);

    expect(await run('import', ['plants.ndjson'])).toMatchObject({
      status: 0,
      stderr: `${PLANTS.length - stored} created, ${stored} repeated, 0 conflicts, 0 rejected\n`,
    });
    expect(directory.rows()).toEqual(PLANTS);
  });

  it('an import that cannot write all rejected rows fails, and writes them all when there is room', async () => {
    const write = (rows: number): void => writeFileSync(directory.file('rows'), 'nonsense\n'.repeat(rows));
    const parameters = ['rows', '--rejects', 'rejects.txt'];
    write(1_100);
    await run('import', parameters);
    const lines = readFileSync(directory.file('rejects.txt'), 'utf8').trimEnd().split('\n');
    rmSync(directory.file('rejects.txt'));
    // The line that crosses the end of a block is the last one: a part of it can still be written.
    const text = (rows: number): string => lines.slice(0, rows).join('\n') + '\n';
    const count = lines.findIndex((line, index) => index > 1_000 && text(index + 1).length % BLOCK < line.length) + 1;
    const rejects = text(count);
    write(count);

    expect(await run('import', parameters, {}, fullAt(rejects.length))).toEqual(
      failure(/plant-store: rejects\.txt cannot be written: EFBIG[^\n]+\n$/),
    );
    rmSync(directory.file('rejects.txt'));
    expect(await run('import', parameters)).toMatchObject({ status: 3 });
    expect(readFileSync(directory.file('rejects.txt'), 'utf8')).toBe(rejects);
  });
});
