import { CREATED, create } from '../support/client.js';
import { ServiceDirectory } from '../support/service-directory.js';

/** Set it to 50 for a new driver, which may abort only some stops: nodejs/node#65446 */
const STARTS = Number(process.env.STARTS ?? 5);

describe('A service', () => {
  const directory = ServiceDirectory.ofEachTest();

  it(
    `that is idle ends with status 0 and without a warning, ${STARTS} times out of ${STARTS}`,
    async () => {
      for (let start = 1; start <= STARTS; start += 1) {
        const { service } = await directory.start();

        const status = await service.stop();

        expect({ start, status, stderr: service.stderr }).toEqual({ start, status: 0, stderr: '' });
      }
    },
    30_000 + STARTS * 10_000,
  );

  it('prints no deprecation of Node, answers included', async () => {
    const { service, url, management } = await directory.startManaged({ NODE_OPTIONS: '--pending-deprecation' });

    expect(await create(url)).toEqual(CREATED);
    for (const path of ['health/ready', 'metrics', 'docs'])
      expect((await fetch(`${management}/${path}`)).status).toBe(200);

    expect({ status: await service.stop(), stderr: service.stderr }).toEqual({ status: 0, stderr: '' });
  });
});
