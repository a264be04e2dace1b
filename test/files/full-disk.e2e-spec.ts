/** On a full disk, a command ends with one line, leaves no part of a file, and works when there is room. */
import { readdirSync, readFileSync } from 'node:fs';
import { encodePlants } from '../../src/commands/data/formats.js';
import type { Run } from '../support/command.js';
import { ServiceDirectory } from '../support/service-directory.js';

const PLANTS = Array.from({ length: 20_000 }, (_, index) => ({
  id: BigInt(index) * 7n,
  name: `plant ${index}`,
  tag: 'x'.repeat(index % 30),
}));
const NDJSON = encodePlants(PLANTS, 'ndjson');

const directory = ServiceDirectory.ofEachTest();

/** Runs a command that cannot let a file grow beyond this number of bytes, rounded down to a block of `ulimit -f`. */
function runOnFullDisk(bytes: number, command: string, parameters: string, redirection = ''): Promise<Run> {
  const wrapper = ['sh', '-c', `ulimit -f ${Math.floor(bytes / 512)}; exec "$@" ${redirection}`, 'sh'];
  return directory.run(command, parameters.split(' '), {}, '', { wrapper });
}

/** Returns what a command ends with on a full disk. */
function failure(complaint: RegExp): unknown {
  return { status: 1, stdout: '', stderr: expect.stringMatching(complaint) as unknown };
}

describe('On a full disk', () => {
  it('an export and a backup leave no file', async () => {
    await directory.store(PLANTS);
    // The last block has room for a part of the last bytes.
    const room = NDJSON.length - 1;

    expect(await runOnFullDisk(room, 'export', 'copy.ndjson')).toEqual(
      failure(/^plant-store: copy\.ndjson cannot be written: EFBIG: file too large.+\n$/),
    );
    expect(await runOnFullDisk(NDJSON.length / 3, 'backup', 'backup.db')).toEqual(
      failure(/^plant-store: backup\.db cannot be written: .+\n$/),
    );
    expect(readdirSync(directory.path)).toEqual(['data']);
    // Nor does SQLite leave its log and the index of the log.
    expect(readdirSync(directory.file('data'))).toEqual(['plants.db']);
    expect(await runOnFullDisk(room, 'export', '-', '> stdout')).toEqual(
      failure(/^plant-store: stdout cannot be written: EFBIG: file too large.+\n$/),
    );

    expect(await directory.run('backup', ['backup.db'])).toMatchObject({ status: 0 });
    expect(await directory.run('export', ['copy.ndjson'])).toMatchObject({ status: 0 });
    expect(readFileSync(directory.file('copy.ndjson'), 'utf8')).toBe(NDJSON);
  });

  it('an import ends with one line, and can run again when there is room', async () => {
    await directory.store([]);
    directory.write('plants.ndjson', NDJSON);

    expect(await runOnFullDisk(NDJSON.length / 3, 'import', 'plants.ndjson')).toEqual(
      failure(/^plant-store: [^\n]+\n$/),
    );
    const stored = directory.rows().length;
    expect(stored).toBeGreaterThan(0);
    expect(stored).toBeLessThan(PLANTS.length);

    expect(await directory.run('import', ['plants.ndjson'])).toMatchObject({
      status: 0,
      stderr: `${PLANTS.length - stored} created, ${stored} repeated, 0 conflicts, 0 rejected\n`,
    });
    expect(directory.rows()).toEqual(PLANTS);
  });

  it('token create leaves the token file as it was', async () => {
    const text = `# ${'x'.repeat(480)}\n`;
    directory.write('tokens', text);

    // The first block of the file has room for a part of the line.
    expect(await runOnFullDisk(512, 'token', 'create --name ci --file tokens')).toEqual(
      failure(/^plant-store: tokens cannot be written.+EFBIG.+\n$/),
    );
    expect(readFileSync(directory.file('tokens'), 'utf8')).toBe(text);
  });
});
