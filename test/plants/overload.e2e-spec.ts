import { create, CREATED } from '../support/client.js';
import { creation } from '../support/http-messages.js';
import { RawClient } from '../support/raw-client.js';
import { sharedService } from '../support/service.js';
import { until } from '../support/until.js';

/** Returns the number that have an answer. */
function answeredOf(clients: readonly RawClient[]): number {
  return clients.filter(({ answers }) => answers.length > 0).length;
}

describe('POST /plants', () => {
  const service = sharedService();

  it('refuses bodies beyond 64 MiB with error 503 before it reads them, and none when these are answered', async () => {
    const clients = await Promise.all(Array.from({ length: 80 }, () => RawClient.open(service.url)));
    // Without its last byte, so that the service has to keep the body.
    const large = creation(1, 1_000_000);
    for (const { socket } of clients) socket.write(large.slice(0, -1));
    await until('13 are refused', () => answeredOf(clients) === 13);
    const [accepted, refused] = [false, true].map((isRefused) =>
      clients.filter(({ answers }) => answers.length > 0 === isRefused),
    ) as [RawClient[], RawClient[]];

    for (const { received } of refused) expect(received).toMatch(/\r\nRetry-After: 1\r\n[^]*\{"error":503,/i);
    for (const { socket } of accepted) socket.write(large.slice(-1));
    await Promise.all(accepted.map((client) => client.answered(1)));
    expect(accepted.map(({ answers }) => answers)).toEqual(accepted.map(() => [200]));
    expect(await create(service.url)).toMatchObject({ body: { error: 409 } });
    for (const { socket } of clients) socket.destroy();
  });

  it('refuses no body when clients have disconnected in the middle of theirs', async () => {
    const clients = await Promise.all(Array.from({ length: 67 }, () => RawClient.open(service.url)));
    for (const { socket } of clients) socket.write(creation(2, 1_000_000).slice(0, -1));
    for (const { socket } of clients) socket.end();
    await Promise.all(clients.map(({ closed }) => closed));

    await service.store.query('DELETE FROM plants');
    expect(await create(service.url)).toEqual(CREATED);
  });
});
