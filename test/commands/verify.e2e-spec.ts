import { createHash } from 'node:crypto';
import type { StoredPlant } from '../../src/storage/plant-repository.js';
import { HOSTILE_PLANTS } from '../support/hostile-plants.js';
import { ServiceDirectory } from '../support/service-directory.js';

const directory = ServiceDirectory.ofEachTest();

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

describe('plant-store verify', () => {
  it('prints the SHA-256 that sha256sum prints of an export', async () => {
    await directory.store(HOSTILE_PLANTS);
    const { stdout } = await directory.run('export');

    expect(await directory.run('verify', ['--json'])).toEqual({
      status: 0,
      stdout: `{"plants":${HOSTILE_PLANTS.length},"sha256":"${sha256(stdout)}"}\n`,
      stderr: '',
    });
  });

  it('names the first ids that differ', async () => {
    await directory.store([1n, 2n, 3n, 2n ** 63n - 1n].map((id) => ({ id, name: 'a' })));
    await directory.store([{ id: 2n, name: 'a', tag: '' }, ...[3n, 4n].map((id) => ({ id, name: 'a' }))], 'other.db');

    expect(await directory.run('verify', [], { OTHER_DATABASE_URL: 'sqlite:other.db' })).toEqual({
      status: 3,
      stdout: '',
      stderr:
        'the stores differ: 4 and 3 plants, 2 missing, 1 additional, 1 different; the first ids: ' +
        '1 (missing), 2 (different), 4 (additional), 9223372036854775807 (missing)\n',
    });
  });

  it('compares every field of a plant', async () => {
    // The type names each field: a further one needs a value here.
    const plant: Required<StoredPlant> = { id: 1n, name: 'Monstera', tag: 'indoor' };
    const { id, ...others } = plant;
    await directory.store([plant]);
    for (const field of Object.keys(others)) {
      const other = `${field}.db`;
      await directory.store([{ ...plant, [field]: 'another' }], other);

      expect(await directory.run('verify', ['--against', `sqlite:${other}`])).toMatchObject({
        status: 3,
        stderr: expect.stringContaining(`1 different; the first ids: ${id} (different)`) as unknown,
      });
    }
  });
});
