import { CREATED, create } from '../support/client.js';
import { importing } from '../support/node-process.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';
import { until } from '../support/until.js';

const directory = ServiceDirectory.ofEachTest();

describe('A service that is idle', () => {
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

describe('A service that cannot close in order', () => {
  /** The code of a process whose public port cannot close. */
  const BROKEN = `
    const { Server } = await import('node:net');
    const { close } = Server.prototype;
    Server.prototype.close = function () {
      Server.prototype.close = close;
      throw new Error('it is still open');
    };`;

  it('says why in the log, and ends with status 1', async () => {
    const { service } = await directory.start({ ...WITH_TOKEN, ...importing(BROKEN) });

    expect(await service.stop()).toBe(1);

    const [last] = service.lines.slice(-1).map((line) => JSON.parse(line) as { level: string; message: string });
    expect(last).toMatchObject({ level: 'error', message: expect.stringContaining('it is still open') as unknown });
    expect(last?.message).toMatch(/^The service could not close in order: /);
  });
});
