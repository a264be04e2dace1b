import { CREATED, create } from '../support/client.js';
import { ServiceDirectory } from '../support/service-directory.js';
import { until } from '../support/until.js';

describe('A service that is idle', () => {
  const directory = ServiceDirectory.ofEachTest();

  it('ends with status 0, and prints no warning and no deprecation of Node', async () => {
    const { service, url, management } = await directory.startManaged({ NODE_OPTIONS: '--pending-deprecation' });
    expect(await create(url)).toEqual(CREATED);
    for (const path of ['health/ready', 'metrics', 'docs']) {
      expect((await fetch(`${management}/${path}`)).status).toBe(200);
    }

    expect({ status: await service.stop(), stderr: service.stderr }).toEqual({ status: 0, stderr: '' });
  });

  it('ends with status 0 while SIGHUP arrives', async () => {
    const { service } = await directory.start();
    let status: number | null | undefined;
    service.ended.then(
      (ended) => (status = ended),
      () => undefined,
    );

    service.signal('SIGTERM');
    await until('it has ended', () => {
      service.signal('SIGHUP');
      return status !== undefined;
    });

    expect(status).toBe(0);
  });
});
