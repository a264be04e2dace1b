import { ServiceDirectory } from '../support/service-directory.js';

/** `.ci/test-on-node` sets it to 50, because better-sqlite3 12 aborts only some stops: nodejs/node#65446 */
const STARTS = Number(process.env.STARTS ?? 5);

describe('An idle service', () => {
  let directory: ServiceDirectory;

  beforeEach(() => {
    directory = new ServiceDirectory();
  });

  afterEach(() => directory.remove());

  it(
    `ends with status 0 and without a warning, ${STARTS} times out of ${STARTS}`,
    async () => {
      for (let start = 1; start <= STARTS; start += 1) {
        const { service } = await directory.start();

        const status = await service.stop();

        expect({ start, status, stderr: service.stderr }).toEqual({ start, status: 0, stderr: '' });
      }
    },
    30_000 + STARTS * 10_000,
  );
});
