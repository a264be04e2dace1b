import { createHash } from 'node:crypto';
import { HOSTILE_PLANTS } from '../support/hostile-plants.js';
import { ServiceDirectory } from '../support/service-directory.js';

const directory = ServiceDirectory.ofEachTest();

describe('plant-store verify', () => {
  it('prints the SHA-256 that sha256sum prints of an export', async () => {
    await directory.store(HOSTILE_PLANTS);
    const { stdout } = await directory.run('export');
    const sha256 = createHash('sha256').update(stdout).digest('hex');

    expect(await directory.run('verify', ['--json'])).toEqual({
      status: 0,
      stdout: `{"plants":${HOSTILE_PLANTS.length},"sha256":"${sha256}"}\n`,
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
});
