import { message } from '../support/http-messages.js';
import { RawClient } from '../support/raw-client.js';
import { ServiceDirectory } from '../support/service-directory.js';

const directory = ServiceDirectory.ofEachTest();

describe('Connections beyond MAX_CONNECTIONS', () => {
  it('are closed without an answer, counted and logged once, and the others go on', async () => {
    const { service, url, management } = await directory.startManaged({ MAX_CONNECTIONS: '2' });
    const clients = [await RawClient.open(url), await RawClient.open(url)];
    for (const client of clients) expect(await client.ask(message())).toBe(200);

    for (let count = 0; count < 5; count += 1) {
      const newcomer = await RawClient.open(url);
      await newcomer.closed;
      expect(newcomer.received).toBe('');
    }

    for (const client of clients) expect(await client.ask(message())).toBe(200);
    const metrics = await (await fetch(`${management}/metrics`)).text();
    expect(metrics).toMatch(/^plant_store_connections_dropped_total 5$/m);
    await service.stop();
    expect(service.stdout.match(/MAX_CONNECTIONS \(2\) are open/g)).toHaveLength(1);
  });
});
