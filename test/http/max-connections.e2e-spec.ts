import { message, plant } from '../support/http-messages.js';
import { RawClient } from '../support/raw-client.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';
import { until } from '../support/until.js';

const directory = ServiceDirectory.ofEachTest();

describe('Connections beyond MAX_CONNECTIONS', () => {
  it('are closed without an answer, counted and logged once, and the others go on', async () => {
    const { service, url } = await directory.start({ ...WITH_TOKEN, MAX_CONNECTIONS: '2', MANAGEMENT_PORT: '0' });
    const management = await service.managementListening();
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
    clients[0]?.socket.destroy();
    await until('there is room again', async () => {
      const next = await RawClient.open(url);
      const answer = await next.ask(message({ body: plant(2) }));
      next.socket.destroy();
      return answer === 200;
    });
    clients[1]?.socket.destroy();
    await service.stop();
    expect(service.stdout.match(/MAX_CONNECTIONS \(2\) are open/g)).toHaveLength(1);
  });
});
