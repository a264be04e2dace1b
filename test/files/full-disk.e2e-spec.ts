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

beforeEach(async () => {
  await directory.store([]);
  directory.write('plants.ndjson', NDJSON);
});

function run(command: string, ...parameters: string[]): Promise<Run> {
  return directory.run(command, parameters);
}

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
  it('an export leaves no file, and is complete when there is room', async () => {
    await run('import', 'plants.ndjson');
    // The last block has room for a part of the last bytes.
    const room = NDJSON.length - 1;

    expect(await runOnFullDisk(room, 'export', 'copy.ndjson')).toEqual(
      failure(/^plant-store: copy\.ndjson cannot be written: EFBIG: file too large.+\n$/),
    );
    expect(readdirSync(directory.path).sort()).toEqual(['data', 'plants.ndjson']);
    expect(await runOnFullDisk(room, 'export', '-', '> stdout')).toEqual(
      failure(/^plant-store: stdout cannot be written: EFBIG: file too large.+\n$/),
    );
    // Nor does SQLite leave its log and the index of the log.
    expect(readdirSync(directory.file('data'))).toEqual(['plants.db']);

    expect(await run('export', 'copy.ndjson')).toMatchObject({ status: 0 });
    expect(readFileSync(directory.file('copy.ndjson'), 'utf8')).toBe(NDJSON);
  });

  it('a backup leaves no file, and is complete when there is room', async () => {
    await run('import', 'plants.ndjson');

    expect(await runOnFullDisk(NDJSON.length / 3, 'backup', 'backup.db')).toEqual(
      failure(/^plant-store: backup\.db cannot be written: .+\n$/),
    );
    expect(readdirSync(directory.path).sort()).toEqual(['data', 'plants.ndjson']);

    expect(await run('backup', 'backup.db')).toMatchObject({ status: 0 });
  });

  it('an import ends with one line, and can run again when there is room', async () => {
    expect(await runOnFullDisk(NDJSON.length / 3, 'import', 'plants.ndjson')).toEqual(
      failure(/^plant-store: [^\n]+\n$/),
    );
    const stored = directory.rows().length;
    expect(stored).toBeGreaterThan(0);
    expect(stored).toBeLessThan(PLANTS.length);

    expect(await run('import', 'plants.ndjson')).toMatchObject({
      status: 0,
      stderr: `${PLANTS.length - stored} created, ${stored} repeated, 0 conflicts, 0 rejected\n`,
    });
    expect(directory.rows()).toEqual(PLANTS);
  });

  it.each([
    { what: 'no token file', before: undefined },
    { what: 'a token file as before', before: `# ${'x'.repeat(480)}\n` },
    { what: 'a token file without its last end of line as before', before: `# ${'x'.repeat(480)}` },
  ])('token create leaves $what, and a token when there is room', async ({ before }) => {
    if (before !== undefined) directory.write('tokens', before);
    const create = 'create --name ci --file tokens';

    // The first block of the file has room for a part of the line.
    expect(await runOnFullDisk(before === undefined ? 0 : 512, 'token', create)).toEqual(
      failure(/^plant-store: tokens cannot be written.+EFBIG.+\n$/),
    );
    const files = readdirSync(directory.path).filter((name) => name === 'tokens');
    expect(files.map((name) => readFileSync(directory.file(name), 'utf8'))).toEqual(
      before === undefined ? [] : [before],
    );

    expect(await run('token', ...create.split(' '))).toMatchObject({ status: 0 });
    expect(await run('token', 'list', '--file', 'tokens')).toMatchObject({ status: 0 });
  });
});
