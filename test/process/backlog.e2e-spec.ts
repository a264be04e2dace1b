import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { CREATED, create } from '../support/client.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';

const directory = ServiceDirectory.ofEachTest();

describe('A service that accepts no connections for a while', () => {
  it('lets 1,000 clients connect meanwhile, which is more than Node allows by default', async () => {
    // The system allows no more; on Linux, its default is 4,096.
    const allowed = Number(readFileSync('/proc/sys/net/core/somaxconn', 'utf8'));
    const { service, url } = await directory.start(WITH_TOKEN);
    service.suspend();

    const port = Number(new URL(url).port);
    const clients = Array.from({ length: Math.min(1_000, allowed) }, () => connect(port, '127.0.0.1'));
    await Promise.all(clients.map((client) => once(client, 'connect')));

    service.signal('SIGCONT');
    expect(await create(url)).toEqual(CREATED);
    for (const client of clients) client.destroy();
    expect(await service.stop()).toBe(0);
  });
});
